"""A session runs within the walls of its tenant, and in no place that has none; no word of the tenant's own
people makes room for more than may run."""

from tenancy.base.kinds import JOB, POD, Kind
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import WATCHER
from tests.admission.people import Attempt, Person
from tests.platform import Platform, tenant_manifest
from tests.sessions.sessions import Sessions, sessions_of

CLUSTER_ROLE = Kind("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", is_namespaced=False)


def without_network_policies(rules: list[Manifest]) -> list[Manifest]:
    """The watcher's rights, but for that to write network policies."""
    return [
        {**rule, "verbs": ["get", "list", "watch"]} if "networkpolicies" in rule["resources"] else rule
        for rule in rules
    ]


def test_no_session_runs_in_a_namespace_before_all_its_walls_stand(platform: Platform) -> None:
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
        assert "namespace tenant-rising is not built yet" in status["message"]
        assert sessions.job("early") is None
    finally:
        platform.admin.patch(CLUSTER_ROLE, WATCHER, {"rules": role["rules"]})
    # A new spec is tried at once, not when the wait after the failure is over.
    platform.apply({**manifest, "spec": {"displayName": "Rising"}})
    platform.await_active(manifest)
    sessions.await_phase("early", "Completed")
    platform.delete(manifest)


def say_through(sessions: Sessions, name: str, time: str) -> None:
    """Has an admin of the tenant write that the session's Job ended well, though its pod runs."""
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
    alice = Person.named(sessions.platform.admin_kubeconfig, "alice")
    path = JOB.path(sessions.namespace, f"aisession-{name}", "status")
    alice.do(Attempt("PATCH", path, {"status": forged}, "application/merge-patch+json"))


def test_time_that_there_is_none_of_holds_up_no_other_session(sessions: Sessions) -> None:
    sessions.create("endless", "endless")
    sessions.await_phase("endless", "Running")
    # In the time of the API server, that is in the year 10000.
    say_through(sessions, "endless", "9999-12-31T23:59:59-23:00")
    sessions.create("other")
    sessions.await_phase("other", "Completed")
    assert sessions.status("endless")["phase"] == "Running"


def test_job_that_is_said_to_be_through_keeps_its_place_while_its_pod_runs(sessions: Sessions) -> None:
    sessions.set_limit(1)
    sessions.create("sly", "endless")
    started = sessions.await_phase("sly", "Running")["startTime"]
    say_through(sessions, "sly", started)
    sessions.await_phase("sly", "Completed")
    sessions.create("next")
    sessions.await_phase("next", "Pending", "Queued")
    (pod,) = sessions.pods("sly")
    assert pod["status"]["phase"] == "Running"
    sessions.platform.admin.delete(POD, pod["metadata"]["name"], sessions.namespace)
    sessions.await_phase("next", "Completed")
