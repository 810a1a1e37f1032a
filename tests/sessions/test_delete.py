"""If a session is deleted, its Job is deleted.

If a tenant is deleted, its sessions are deleted before its namespaces.
"""

from tenancy.base.kinds import JOB, POD, Kind
from tenancy.base.manifest import Manifest, is_deleting
from tests.platform import NewTenant, Platform
from tests.sessions.sessions import Sessions, sessions_of
from tests.waiting import eventually


def set_finalizers(sessions: Sessions, kind: Kind, name: str, finalizers: list[str] | None) -> None:
    change = {"metadata": {"finalizers": finalizers}}
    sessions.platform.admin.patch(kind, name, change, namespace=sessions.namespace)


def test_deleted_session_takes_job_and_pod_with_it(sessions: Sessions) -> None:
    sessions.create("dropped", "endless")
    sessions.await_phase("dropped", "Running")
    sessions.delete("dropped")
    eventually(lambda: sessions.job("dropped") is None, "its Job is gone")
    eventually(lambda: not sessions.pods("dropped"), "its pod is gone")
    sessions.create("dropped")
    sessions.await_phase("dropped", "Completed")


def test_next_session_waits_for_the_pod_of_a_deleted_one(sessions: Sessions) -> None:
    sessions.set_limit(1)
    sessions.create("dying", "endless")
    sessions.await_phase("dying", "Running")
    (pod,) = sessions.pods("dying")
    # The finalizer simulates a container that needs a long time to stop.
    set_finalizers(sessions, POD, pod["metadata"]["name"], ["test.example/hold"])
    sessions.delete("dying")
    eventually(lambda: sessions.job("dying") is None, "its Job is gone")
    sessions.create("next")
    sessions.await_phase("next", "Pending", "Queued")
    set_finalizers(sessions, POD, pod["metadata"]["name"], None)
    sessions.await_phase("next", "Completed")


def test_session_whose_job_is_deleted_is_terminated(platform: Platform, sessions: Sessions) -> None:
    sessions.create("victim", "endless")
    sessions.await_phase("victim", "Running")
    platform.admin.delete(JOB, "aisession-victim", sessions.namespace)
    status = sessions.await_phase("victim", "Terminated", "JobDeleted")
    assert status["startTime"] <= status["completionTime"]
    eventually(lambda: not sessions.pods("victim"), "its pod is gone")


def test_deleted_tenant_ends_its_sessions_before_its_stack(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("closing")
    sessions = sessions_of(platform, "closing")
    for name in ("one", "two", "three", "waits"):
        sessions.create(name, "endless")
    for name in ("one", "two", "three"):
        sessions.await_phase(name, "Running")
    # A user has created a Job with the label and the owner of a session. The watcher does not wait for this
    # Job.
    job = sessions.job("two")
    assert job is not None
    set_finalizers(sessions, JOB, create_forged(sessions, job), ["test.example/keep"])
    # The finalizer simulates a pod that needs a long time to stop. The stack is not destroyed before the pod
    # stops.
    (pod,) = sessions.pods("one")
    set_finalizers(sessions, POD, pod["metadata"]["name"], ["test.example/hold"])
    platform.delete(manifest)
    eventually(lambda: not sessions.all(), "the sessions are gone")
    eventually(
        lambda: ready_message(platform, manifest).endswith("to end: Job tenant-closing/aisession-one"),
        "the status names the Job",
    )
    assert sessions.job("two") is None
    namespace = platform.namespace(sessions.namespace)
    assert namespace is not None
    assert not is_deleting(namespace)
    set_finalizers(sessions, POD, pod["metadata"]["name"], None)
    eventually(lambda: is_deleting(platform.namespace(sessions.namespace)), "its namespace is being deleted")
    set_finalizers(sessions, JOB, "forged", None)
    platform.await_gone(manifest)


def test_session_goes_with_its_namespace(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("shrinking", namespaces=[{"name": "a"}, {"name": "b"}])
    kept, removed = (sessions_of(platform, "shrinking", name) for name in ("a", "b"))
    for name in ("one", "two"):
        removed.create(name, "endless")
        removed.await_phase(name, "Running")
    kept.create("three", "endless")
    kept.await_phase("three", "Running")
    kept.create("four")
    kept.await_phase("four", "Pending", "Queued")
    smaller = {**manifest, "spec": {"namespaces": [{"name": "a"}]}}
    platform.apply(smaller)
    kept.await_phase("four", "Completed")
    eventually(lambda: platform.namespace(removed.namespace) is None, "the namespace is gone")
    assert kept.status("three")["phase"] == "Running"
    platform.await_active(smaller)


def create_forged(sessions: Sessions, job: Manifest) -> str:
    metadata = {
        "name": "forged",
        "namespace": sessions.namespace,
        "labels": {"platform.ai/session": "two"},
        "ownerReferences": job["metadata"]["ownerReferences"],
    }
    template = {"metadata": {}, "spec": job["spec"]["template"]["spec"]}
    sessions.platform.admin.create(JOB, {"metadata": metadata, "spec": {"template": template}})
    return "forged"


def ready_message(platform: Platform, manifest: Manifest) -> str:
    """The message of the Tenant's Ready condition."""
    conditions = ((platform.tenant(manifest) or {}).get("status") or {}).get("conditions") or ()
    return next((str(entry["message"]) for entry in conditions if entry["type"] == "Ready"), "")
