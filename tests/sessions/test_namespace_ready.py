"""Sessions run only in isolated namespaces.

A wrong status of a Job does not let more sessions run than the limit.
"""

from tenancy.base.kinds import JOB, POD, Kind
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import WATCHER
from tests.platform import Platform, tenant_manifest
from tests.sessions.sessions import Sessions, sessions_of

CLUSTER_ROLE = Kind("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", is_namespaced=False)


def without_network_policies(rules: list[Manifest]) -> list[Manifest]:
    """The watcher's RBAC rules without the right to write NetworkPolicies."""
    return [
        {**rule, "verbs": ["get", "list", "watch"]} if "networkpolicies" in rule["resources"] else rule
        for rule in rules
    ]


def test_no_session_runs_in_a_namespace_before_it_is_isolated(platform: Platform) -> None:
    role = platform.admin.get(CLUSTER_ROLE, WATCHER)
    assert role is not None
    platform.admin.patch(CLUSTER_ROLE, WATCHER, {"rules": without_network_policies(role["rules"])})
    manifest = tenant_manifest("rising")
    try:
        platform.apply(manifest)
        platform.await_condition(manifest, "AccessDenied")
        sessions = sessions_of(platform, "rising")
        sessions.create("early")
        status = sessions.await_phase("early", "Pending", "TenantNotReady")
        assert "namespace tenant-rising is not ready yet" in status["message"]
        assert sessions.job("early") is None
    finally:
        platform.admin.patch(CLUSTER_ROLE, WATCHER, {"rules": role["rules"]})
    # After the failure, the watcher waits before it retries. It applies a new spec immediately.
    platform.apply({**manifest, "spec": {"displayName": "Rising"}})
    platform.await_active(manifest)
    sessions.await_phase("early", "Completed")
    platform.delete(manifest)


def forge_completion(sessions: Sessions, name: str, time: str) -> None:
    """Write a status to the session's Job that says it is complete. Its pod is still running.

    Only cluster administrators can write this status (`tests/admission/test_quota_evasion.py`).
    """
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": time}
        for kind in ("SuccessCriteriaMet", "Complete")
    ]
    forged = {
        "conditions": conditions,
        "completionTime": time,
        "succeeded": 1,
        "active": 0,
        "ready": 0,
        "uncountedTerminatedPods": None,
    }
    change = {"status": forged}
    sessions.platform.admin.patch(
        JOB, f"aisession-{name}", change, namespace=sessions.namespace, subresource="status"
    )


def test_invalid_time_does_not_block_other_sessions(sessions: Sessions) -> None:
    sessions.create("endless", "endless")
    sessions.await_phase("endless", "Running")
    # Converted to UTC, this time is in the year 10000, which is invalid.
    forge_completion(sessions, "endless", "9999-12-31T23:59:59-23:00")
    sessions.create("other")
    sessions.await_phase("other", "Completed")
    assert sessions.status("endless")["phase"] == "Running"


def test_job_with_a_forged_status_counts_while_its_pod_runs(sessions: Sessions) -> None:
    sessions.set_limit(1)
    sessions.create("forged", "endless")
    started = sessions.await_phase("forged", "Running")["startTime"]
    forge_completion(sessions, "forged", started)
    sessions.await_phase("forged", "Completed")
    sessions.create("next")
    sessions.await_phase("next", "Pending", "Queued")
    (pod,) = sessions.pods("forged")
    assert pod["status"]["phase"] == "Running"
    sessions.platform.admin.delete(POD, pod["metadata"]["name"], sessions.namespace)
    sessions.await_phase("next", "Completed")
