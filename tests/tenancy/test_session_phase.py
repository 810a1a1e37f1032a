"""A session's phase, times and results follow from its Job and its pod."""

from typing import Any

import pytest

from tenancy.base.manifest import Manifest
from tenancy.sessions.phase import is_finished, status_from_job
from tenancy.spec.aisession import AISessionStatus, SessionPhase, duration_s, duration_text
from tests.tenancy.session_parts import COMPLETED, STARTED, condition, job, pod, spec

RUNNING = {"running": {"startedAt": STARTED}}
NEW = AISessionStatus()


def ended(exit_code: int, message: str = "", reason: str = "Error") -> Manifest:
    return {"terminated": {"exitCode": exit_code, "reason": reason, "message": message, "startedAt": STARTED}}


def told(before: AISessionStatus, found: Manifest, of_it: Manifest | None = None) -> dict[str, Any]:
    status = status_from_job(before, spec(timeout="5m"), found, of_it)
    return status.model_dump(by_alias=True, mode="json", exclude_none=True)


def test_job_without_a_pod_is_starting() -> None:
    assert told(NEW, job()) == {"phase": "Pending", "reason": "Starting", "job": "aisession-one"}
    assert told(NEW, {"metadata": {"name": "aisession-one"}})["reason"] == "Starting"
    assert told(NEW, job(), pod("Pending", {"waiting": {"reason": "ContainerCreating"}})) == told(NEW, job())


def test_pod_that_cannot_run_says_why() -> None:
    unplaced = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
    status = told(NEW, job(), pod("Pending", conditions=[unplaced]))
    assert (status["phase"], status["reason"], status["message"]) == ("Pending", "Unschedulable", "0/3 nodes")
    unpulled = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
    status = told(NEW, job(), pod("Pending", unpulled))
    assert (status["reason"], status["message"]) == ("ImagePullBackOff", "no such image")


def test_pod_that_is_gone_before_it_ran_leaves_its_reason() -> None:
    before = AISessionStatus(reason="Unschedulable", message="0/3 nodes", job="aisession-one")
    assert told(before, job())["reason"] == "Unschedulable"
    assert told(AISessionStatus(reason="Queued"), job())["reason"] == "Starting"


def test_running_pod_makes_it_run_since_its_container_does() -> None:
    assert told(NEW, job(), pod("Running", RUNNING)) == {
        "phase": "Running",
        "job": "aisession-one",
        "startTime": STARTED,
    }
    assert told(NEW, job(), pod("Running", startTime=STARTED))["startTime"] == STARTED


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_it_runs_until_the_job_says_how_it_ended(phase: str) -> None:
    assert told(NEW, job(), pod(phase, ended(0)))["phase"] == "Running"


def test_what_ran_does_not_wait_again() -> None:
    before = AISessionStatus(phase=SessionPhase.RUNNING, start_time=STARTED)
    assert told(before, job(), None)["phase"] == "Running"
    assert told(before, job(), pod("Pending"))["startTime"] == STARTED


def test_condition_that_does_not_hold_is_no_end() -> None:
    assert not is_finished(job({**condition("Complete"), "status": "False"}))
    assert not is_finished(job(condition("FailureTarget"), condition("SuccessCriteriaMet")))
    assert is_finished(job(condition("SuccessCriteriaMet"), condition("Complete")))


def test_completed_session_has_times_and_results() -> None:
    found = job(condition("Complete"), completionTime=COMPLETED)
    result = '{"outputData": "done", "metrics": {"tokensUsed": 7}}'
    assert told(NEW, found, pod("Succeeded", ended(0, result))) == {
        "phase": "Completed",
        "job": "aisession-one",
        "startTime": STARTED,
        "completionTime": COMPLETED,
        "results": {"outputData": "done", "metrics": {"tokensUsed": 7, "executionTime": "12m3s"}},
    }


def test_clocks_that_differ_end_nothing_before_it_began() -> None:
    before = AISessionStatus(phase=SessionPhase.RUNNING, start_time=COMPLETED)
    status = told(before, job(condition("Complete"), completionTime=STARTED))
    assert (status["startTime"], status["completionTime"]) == (COMPLETED, COMPLETED)
    assert status["results"]["metrics"]["executionTime"] == "0s"


def test_completed_session_without_its_pod_has_times_all_the_same() -> None:
    status = told(NEW, job(condition("Complete"), completionTime=COMPLETED))
    assert (status["startTime"], status["completionTime"]) == (STARTED, COMPLETED)
    assert status["results"] == {"metrics": {"executionTime": "12m3s"}}


def test_failed_session_tells_the_exit_code_and_what_it_wrote() -> None:
    status = told(NEW, job(condition("Failed", "BackoffLimitExceeded")), pod("Failed", ended(3, "no data")))
    assert (status["phase"], status["reason"]) == ("Failed", "Error")
    log = "kubectl logs -n tenant-acme job/aisession-one"
    assert status["message"] == f"the container failed with exit code 3; to read its log: {log}"
    assert (status["completionTime"], status["results"]["outputData"]) == (COMPLETED, "no data")


def test_failed_session_tells_what_kubernetes_knows() -> None:
    failed = job(condition("Failed", "BackoffLimitExceeded", "it failed"))
    assert told(NEW, failed, pod("Failed", ended(137, reason="OOMKilled")))["reason"] == "OOMKilled"
    evicted = told(NEW, failed, pod("Failed", reason="Evicted", message="node is full"))
    assert (evicted["reason"], evicted["message"]) == ("Evicted", "node is full")
    silent = told(NEW, failed, pod("Failed"))
    assert (silent["reason"], silent["message"]) == ("BackoffLimitExceeded", "it failed")
    alone = told(NEW, failed)
    assert alone["reason"] == "BackoffLimitExceeded"
    assert alone["message"].endswith("was it deleted?")


def test_timeout_ends_it_as_terminated() -> None:
    before = AISessionStatus(phase=SessionPhase.RUNNING, start_time=STARTED)
    status = told(before, job(condition("Failed", "DeadlineExceeded")))
    assert (status["phase"], status["reason"]) == ("Terminated", "DeadlineExceeded")
    assert status["message"] == "the session did not finish within its timeout of 5m"
    assert (status["startTime"], status["completionTime"]) == (STARTED, COMPLETED)


def test_result_of_a_pod_that_is_deleted_is_kept() -> None:
    before = AISessionStatus(phase=SessionPhase.RUNNING, start_time=STARTED)
    going = pod("Failed", ended(143, "half a report")) | {"metadata": {"deletionTimestamp": COMPLETED}}
    status = told(before, job(), going)
    assert (status["phase"], status["results"]["outputData"]) == ("Running", "half a report")
    known = AISessionStatus.model_validate(status)
    status = told(known, job(condition("Failed", "DeadlineExceeded")))
    assert status["results"] == {"outputData": "half a report", "metrics": {"executionTime": "12m3s"}}


def test_timeout_before_it_ran_says_so_and_counts_no_time() -> None:
    before = AISessionStatus(reason="Unschedulable")
    late = pod("Pending", {"waiting": {"reason": "ImagePullBackOff"}}, startTime=STARTED)
    for found in (None, late):
        status = told(before, job(condition("Failed", "DeadlineExceeded")), found)
        assert status["message"] == "the session did not start (Unschedulable) within its timeout of 5m"
        assert "startTime" not in status
        assert "results" not in status


@pytest.mark.parametrize(("seconds", "text"), [(0, "0s"), (59, "59s"), (3600, "1h"), (5403, "1h30m3s")])
def test_durations_are_written_as_they_are_read(seconds: int, text: str) -> None:
    assert duration_text(seconds) == text
    assert duration_s(text) == seconds
