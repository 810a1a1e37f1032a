"""The phases of a session from its creation to its end. The pods run on simulated nodes."""

import pytest

from cluster.errors import ClusterError
from tenancy.base.kinds import AISESSION, JOB, POD
from tenancy.base.names import WATCHER_FIELD_MANAGER
from tests.platform import NewTenant, Platform
from tests.sessions.record import records
from tests.sessions.sessions import Sessions, sessions_of
from tests.waiting import eventually


def test_sessions_of_all_types_complete_with_times_and_results(sessions: Sessions) -> None:
    for kind in ("analysis", "automation", "research"):
        sessions.create(f"my-{kind}", model=None, kind=kind)
    for kind in ("analysis", "automation", "research"):
        status = sessions.await_phase(f"my-{kind}", "Completed")
        assert status["results"]["outputData"] == "a report"
        assert status["results"]["metrics"]["tokensUsed"] == 1234
        assert status["results"]["metrics"]["executionTime"].endswith("s")
        assert status["startTime"] <= status["completionTime"]
        (pod,) = sessions.pods(f"my-{kind}")
        assert pod["spec"]["containers"][0]["image"] == f"registry.example/{kind}:1"


def test_session_runs_before_it_ends_and_its_spec_stays(sessions: Sessions) -> None:
    sessions.create("long", "endless")
    status = sessions.await_phase("long", "Running")
    assert status["job"] == "aisession-long"
    assert status["startTime"]
    assert "completionTime" not in status
    change = {"spec": {"timeout": "2h"}}
    with pytest.raises(ClusterError, match="can't be changed once the session runs"):
        sessions.platform.admin.patch(AISESSION, "long", change, namespace=sessions.namespace)
    sessions.finish("long")
    assert sessions.await_phase("long", "Completed")["startTime"] == status["startTime"]


def test_failed_session_says_why_and_keeps_what_it_wrote(sessions: Sessions) -> None:
    sessions.create("broken", "bad")
    status = sessions.await_phase("broken", "Failed")
    assert status["reason"] == "Error"
    assert "exit code 1" in status["message"]
    assert f"kubectl logs -n {sessions.namespace} job/aisession-broken" in status["message"]
    assert status["results"]["outputData"] == "no data"
    assert status["completionTime"]


def test_session_beyond_its_timeout_is_terminated(sessions: Sessions) -> None:
    sessions.create("slow", "endless", timeout="3s")
    status = sessions.await_phase("slow", "Terminated", "DeadlineExceeded")
    assert "timeout of 3s" in status["message"]
    eventually(lambda: not sessions.pods("slow"), "its pod is gone")


def test_plain_text_is_a_result_too(sessions: Sessions) -> None:
    sessions.create("plain", "plain")
    assert sessions.await_phase("plain", "Completed")["results"]["outputData"] == "all went well"


def test_pod_complies_with_the_tenants_policies(sessions: Sessions) -> None:
    sessions.create("isolated", resources={"cpu": "250m", "memory": "64Mi"})
    sessions.await_phase("isolated", "Completed")
    job = sessions.job("isolated")
    assert job is not None
    written = (sessions.all()["isolated"], job)
    managers = [{entry["manager"] for entry in item["metadata"]["managedFields"]} for item in written]
    assert managers == [{WATCHER_FIELD_MANAGER}, {WATCHER_FIELD_MANAGER, "kube-controller-manager"}]
    (owner,) = job["metadata"]["ownerReferences"]
    assert owner["uid"] == sessions.all()["isolated"]["metadata"]["uid"]
    (pod,) = sessions.pods("isolated")
    amounts = {"cpu": "250m", "memory": "64Mi"}
    assert pod["spec"]["containers"][0]["resources"] == {"requests": amounts, "limits": amounts}
    assert pod["spec"]["automountServiceAccountToken"] is False
    assert "tenant.platform.ai/name" not in pod["metadata"]["labels"]


def test_finished_session_stays_as_it_is_when_its_job_goes(sessions: Sessions) -> None:
    sessions.create("kept")
    before = sessions.await_phase("kept", "Completed")
    sessions.platform.admin.delete(JOB, "aisession-kept", sessions.namespace)
    eventually(lambda: not sessions.pods("kept"), "its pod is gone")
    sessions.create("next")
    sessions.await_phase("next", "Completed")
    assert sessions.status("kept") == before


def test_session_whose_pod_is_deleted_fails_and_is_not_run_again(sessions: Sessions) -> None:
    jobs, pods = records(sessions.platform.admin)
    sessions.create("shot", "endless")
    sessions.await_phase("shot", "Running")
    (pod,) = sessions.pods("shot")
    sessions.platform.admin.delete(POD, pod["metadata"]["name"], sessions.namespace)
    sessions.await_phase("shot", "Failed")
    eventually(
        lambda: jobs.started[sessions.namespace] and pods.started[sessions.namespace],
        "both records have an entry",
    )
    # If its pod fails, the Job does not create a second pod.
    assert jobs.started[sessions.namespace] == pods.started[sessions.namespace] == ["shot"]


def test_session_that_no_node_takes_says_so_until_its_timeout(
    platform: Platform, new_tenant: NewTenant
) -> None:
    new_tenant("nowhere", nodeSelector={"pool": "none"})
    sessions = sessions_of(platform, "nowhere")
    sessions.create("lost", timeout="1h")
    assert "nodes" in sessions.await_phase("lost", "Pending", "Unschedulable")["message"]
    # Shorten the deadline of the Job. Otherwise, the test would have to wait for an hour.
    short_deadline = {"spec": {"activeDeadlineSeconds": 1}}
    platform.admin.patch(JOB, "aisession-lost", short_deadline, namespace=sessions.namespace)
    status = sessions.await_phase("lost", "Terminated", "DeadlineExceeded")
    assert status["message"] == "the session did not start (Unschedulable) within its timeout of 1h"
    assert "startTime" not in status


def test_phases_are_counted(sessions: Sessions) -> None:
    sessions.create("counted", "bad")
    sessions.await_phase("counted", "Failed")

    def metrics_match() -> bool:
        live_phases = [
            (session.get("status") or {}).get("phase", "Pending")
            for session in sessions.platform.admin.list(AISESSION)[0]
        ]
        metrics = sessions.platform.metrics("tenancy_sessions")
        phases = ("Pending", "Running", "Completed", "Failed", "Terminated")
        return metrics == {(phase,): live_phases.count(phase) for phase in phases}

    eventually(metrics_match, "the metrics match the live sessions")
