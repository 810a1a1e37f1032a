"""The rights of a tenant's users on sessions. The users cannot forge a session's status or Job."""

from collections.abc import Callable
from typing import Any

import pytest

from tenancy.base.kinds import AISESSION, JOB, Kind
from tenancy.base.labels import SESSION_LABEL, TENANT_LABEL
from tenancy.base.manifest import Manifest
from tests.admission.people import Attempt, Person, change, create, delete
from tests.platform import Platform
from tests.sessions.sessions import Sessions
from tests.waiting import eventually

PersonNamed = Callable[[str], Person]


@pytest.fixture
def person(platform: Platform) -> PersonNamed:
    """A function that returns a client for a user name.

    alice is an admin, oscar an operator, and vera a viewer.
    """
    return lambda name: Person.named(platform.admin_kubeconfig, name)


def attempt(sessions: Sessions, kind: Kind, name: str, **body: Any) -> Attempt:
    return create(kind, name, sessions.namespace, **body)


def new_session(sessions: Sessions) -> Attempt:
    spec = {"tenantRef": {"name": sessions.tenant}, "sessionType": "analysis"}
    return attempt(sessions, AISESSION, "new", spec=spec)


def job_spec() -> Manifest:
    """The spec of a suspended Job that the admission policies accept."""
    contexts = {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}
    amounts = {"cpu": "10m", "memory": "16Mi"}
    container = {
        "name": "session",
        "image": "registry.example/other:1",
        "resources": {"requests": amounts, "limits": amounts},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    spec = {"restartPolicy": "Never", "securityContext": contexts, "containers": [container]}
    return {"suspend": True, "template": {"spec": spec}}


def test_roles_say_who_may_write_sessions(sessions: Sessions, person: PersonNamed) -> None:
    assert person("alice").refusal(new_session(sessions)) == ""
    assert person("oscar").refusal(new_session(sessions)) == ""
    assert "cannot create" in person("vera").refusal(new_session(sessions))
    all_of_them = Attempt("DELETE", AISESSION.path(sessions.namespace))
    assert person("alice").refusal(all_of_them) == ""
    assert "cannot deletecollection" in person("oscar").refusal(all_of_them)
    assert person("vera").list(AISESSION, namespace=sessions.namespace)[0] == []
    assert "cannot create" in person("mallory").refusal(new_session(sessions))


def test_only_the_platform_writes_the_status(sessions: Sessions, person: PersonNamed) -> None:
    sessions.set_limit(0)
    sessions.create("honest")
    sessions.await_phase("honest", "Pending", "Queued")
    body = {"status": {"phase": "Completed", "results": {"outputData": "forged"}}}
    path = AISESSION.path(sessions.namespace, "honest")
    merge = "application/merge-patch+json"
    message = person("alice").refusal(Attempt("PATCH", f"{path}/status", body, merge))
    assert "cannot patch resource" in message
    # A request without the subresource `status` cannot change the status. The API server ignores the change.
    person("alice").do(Attempt("PATCH", path, body, merge))
    assert sessions.status("honest")["phase"] == "Pending"


def test_job_of_a_user_is_not_a_sessions_job(sessions: Sessions, person: PersonNamed) -> None:
    """A cluster administrator creates a Job that looks like the session's Job.

    The Job does not start the session, and does not count towards the limit.
    """
    alice = person("alice")
    sessions.set_limit(0)
    uid = sessions.create("queued")["metadata"]["uid"]
    sessions.await_phase("queued", "Pending", "Queued")
    owner = {"apiVersion": AISESSION.api_version, "kind": AISESSION.kind, "name": "queued", "uid": uid}
    forged = attempt(sessions, JOB, "aisession-queued", labels={SESSION_LABEL: "queued"}, spec=job_spec())
    assert forged.body is not None
    forged.body["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    labels = {SESSION_LABEL: "queued", TENANT_LABEL: sessions.tenant}
    with_platform_label = attempt(sessions, JOB, "other", labels=labels, spec=job_spec())
    assert "only the platform sets labels" in alice.refusal(with_platform_label)
    assert "only the platform creates and changes Jobs" in alice.refusal(forged)
    sessions.platform.admin.create(JOB, forged.body)
    sessions.set_limit(1)
    assert "another Job" in sessions.await_phase("queued", "Pending", "JobExists")["message"]
    sessions.create("other")
    sessions.await_phase("other", "Completed")
    alice.do(delete(JOB, "aisession-queued", sessions.namespace))
    sessions.await_phase("queued", "Completed")


def test_job_of_a_session_keeps_its_tenant(sessions: Sessions, person: PersonNamed) -> None:
    sessions.create("kept", "endless")
    sessions.await_phase("kept", "Running")
    orphaned = {"metadata": {"ownerReferences": None, "labels": {SESSION_LABEL: None}}}
    message = person("alice").refusal(change(JOB, "aisession-kept", orphaned, sessions.namespace))
    assert "only the platform creates and changes Jobs" in message
    # A cluster administrator removes the owner reference. Afterwards, the Job no longer belongs to the
    # session.
    sessions.platform.admin.patch(JOB, "aisession-kept", orphaned, namespace=sessions.namespace)
    sessions.await_phase("kept", "Terminated", "JobDeleted")
    sessions.platform.admin.delete(JOB, "aisession-kept", sessions.namespace)
    eventually(lambda: not sessions.pods("kept"), "its pod is gone")
