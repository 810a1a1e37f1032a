"""The status of an AISession is computed from its Job and its pod."""

from typing import Any

import pytest

from tenancy.base.manifest import Manifest
from tenancy.sessions.phase import is_finished, status_from_job
from tenancy.spec.aisession import AISessionStatus, SessionPhase, duration_s, duration_text
from tests.tenancy.session_parts import COMPLETED, STARTED, condition, job, pod, spec

RUNNING = {"running": {"startedAt": STARTED}}
NEW = AISessionStatus()


def terminated(exit_code: int, message: str = "", reason: str = "Error") -> Manifest:
    return {"terminated": {"exitCode": exit_code, "reason": reason, "message": message, "startedAt": STARTED}}


def status_of(
    before: AISessionStatus, job_manifest: Manifest, pod_manifest: Manifest | None = None
) -> dict[str, Any]:
    status = status_from_job(before, spec(timeout="5m"), job_manifest, pod_manifest)
    return status.model_dump(by_alias=True, mode="json", exclude_none=True)


def test_job_without_a_pod_is_starting() -> None:
    assert status_of(NEW, job()) == {
        "phase": "Pending",
        "reason": "Starting",
        "job": "aisession-one",
        "aiModel": "large",
    }
    without_status = {"metadata": {"name": "aisession-one"}, "spec": job()["spec"]}
    assert status_of(NEW, without_status)["reason"] == "Starting"
    assert status_of(NEW, job(), pod("Pending", {"waiting": {"reason": "ContainerCreating"}})) == status_of(
        NEW, job()
    )


def test_pod_that_cannot_run_says_why() -> None:
    unscheduled = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/3 nodes",
    }
    status = status_of(NEW, job(), pod("Pending", conditions=[unscheduled]))
    assert (status["phase"], status["reason"], status["message"]) == ("Pending", "Unschedulable", "0/3 nodes")
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
    status = status_of(NEW, job(), pod("Pending", waiting))
    assert (status["reason"], status["message"]) == ("ImagePullBackOff", "no such image")


def test_pod_that_is_gone_before_it_ran_leaves_its_reason() -> None:
    before = AISessionStatus(reason="Unschedulable", message="0/3 nodes", job="aisession-one")
    assert status_of(before, job())["reason"] == "Unschedulable"
    assert status_of(AISessionStatus(reason="Queued"), job())["reason"] == "Starting"


def test_running_pod_makes_it_run_since_its_container_does() -> None:
    assert status_of(NEW, job(), pod("Running", RUNNING)) == {
        "phase": "Running",
        "job": "aisession-one",
        "aiModel": "large",
        "startTime": STARTED,
    }
    assert status_of(NEW, job(), pod("Running", startTime=STARTED))["startTime"] == STARTED


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_it_runs_until_the_job_says_how_it_ended(phase: str) -> None:
    assert status_of(NEW, job(), pod(phase, terminated(0)))["phase"] == "Running"


def test_what_ran_does_not_wait_again() -> None:
    before = AISessionStatus(phase=SessionPhase.RUNNING, start_time=STARTED)
    assert status_of(before, job(), None)["phase"] == "Running"
    assert status_of(before, job(), pod("Pending"))["startTime"] == STARTED


def test_condition_that_does_not_hold_is_no_end() -> None:
    assert not is_finished(job({**condition("Complete"), "status": "False"}))
    assert not is_finished(job(condition("FailureTarget"), condition("SuccessCriteriaMet")))
    assert is_finished(job(condition("SuccessCriteriaMet"), condition("Complete")))


def test_completed_session_has_times_and_results() -> None:
    complete_job = job(condition("Complete"), completionTime=COMPLETED)
    result = '{"outputData": "done", "metrics": {"tokensUsed": 7}}'
    assert status_of(NEW, complete_job, pod("Succeeded", terminated(0, result))) == {
        "phase": "Completed",
        "job": "aisession-one",
        "aiModel": "large",
        "startTime": STARTED,
        "completionTime": COMPLETED,
        "results": {"outputData": "done", "metrics": {"tokensUsed": 7, "executionTime": "12m3s"}},
    }


def test_clocks_that_differ_end_nothing_before_it_began() -> None:
    before = AISessionStatus(phase=SessionPhase.RUNNING, start_time=COMPLETED)
    status = status_of(before, job(condition("Complete"), completionTime=STARTED))
    assert (status["startTime"], status["completionTime"]) == (COMPLETED, COMPLETED)
    assert status["results"]["metrics"]["executionTime"] == "0s"


def test_completed_session_without_its_pod_has_times_all_the_same() -> None:
    status = status_of(NEW, job(condition("Complete"), completionTime=COMPLETED))
    assert (status["startTime"], status["completionTime"]) == (STARTED, COMPLETED)
    assert status["results"] == {"metrics": {"executionTime": "12m3s"}}


def test_failed_session_tells_the_exit_code_and_what_it_wrote() -> None:
    status = status_of(
        NEW, job(condition("Failed", "BackoffLimitExceeded")), pod("Failed", terminated(3, "no data"))
    )
    assert (status["phase"], status["reason"]) == ("Failed", "Error")
    log = "kubectl logs -n tenant-acme job/aisession-one"
    assert status["message"] == f"the container failed with exit code 3; to read its log: {log}"
    assert (status["completionTime"], status["results"]["outputData"]) == (COMPLETED, "no data")


def test_failed_session_tells_what_kubernetes_knows() -> None:
    failed = job(condition("Failed", "BackoffLimitExceeded", "it failed"))
    assert status_of(NEW, failed, pod("Failed", terminated(137, reason="OOMKilled")))["reason"] == "OOMKilled"
    evicted = status_of(NEW, failed, pod("Failed", reason="Evicted", message="node is full"))
    assert (evicted["reason"], evicted["message"]) == ("Evicted", "node is full")
    without_reason = status_of(NEW, failed, pod("Failed"))
    assert (without_reason["reason"], without_reason["message"]) == ("BackoffLimitExceeded", "it failed")
    without_pod = status_of(NEW, failed)
    assert without_pod["reason"] == "BackoffLimitExceeded"
    assert without_pod["message"].endswith("the pod may have been deleted")


def test_timeout_ends_it_as_terminated() -> None:
    before = AISessionStatus(phase=SessionPhase.RUNNING, start_time=STARTED)
    status = status_of(before, job(condition("Failed", "DeadlineExceeded")))
    assert (status["phase"], status["reason"]) == ("Terminated", "DeadlineExceeded")
    assert status["message"] == "the session did not finish within its timeout of 5m"
    assert (status["startTime"], status["completionTime"]) == (STARTED, COMPLETED)


def test_result_of_a_pod_that_is_deleted_is_kept() -> None:
    before = AISessionStatus(phase=SessionPhase.RUNNING, start_time=STARTED)
    terminating = pod("Failed", terminated(143, "half a report")) | {
        "metadata": {"deletionTimestamp": COMPLETED}
    }
    status = status_of(before, job(), terminating)
    assert (status["phase"], status["results"]["outputData"]) == ("Running", "half a report")
    with_result = AISessionStatus.model_validate(status)
    status = status_of(with_result, job(condition("Failed", "DeadlineExceeded")))
    assert status["results"] == {"outputData": "half a report", "metrics": {"executionTime": "12m3s"}}


def test_timeout_before_it_ran_says_so_and_counts_no_time() -> None:
    before = AISessionStatus(reason="Unschedulable")
    waiting_pod = pod("Pending", {"waiting": {"reason": "ImagePullBackOff"}}, startTime=STARTED)
    for pod_manifest in (None, waiting_pod):
        status = status_of(before, job(condition("Failed", "DeadlineExceeded")), pod_manifest)
        assert status["message"] == "the session did not start (Unschedulable) within its timeout of 5m"
        assert "startTime" not in status
        assert "results" not in status


@pytest.mark.parametrize(("seconds", "text"), [(0, "0s"), (59, "59s"), (3600, "1h"), (5403, "1h30m3s")])
def test_durations_are_written_as_they_are_read(seconds: int, text: str) -> None:
    assert duration_text(seconds) == text
    assert duration_s(text) == seconds
