"""What a tenant's people may do with sessions, and what they can't make the platform believe."""

from collections.abc import Callable
from typing import Any

import pytest

from tenancy.base.kinds import AISESSION, JOB, Kind
from tenancy.base.manifest import Manifest
from tenancy.base.names import SESSION_LABEL, TENANT_LABEL
from tests.admission.people import Attempt, Person, change, create, delete
from tests.platform import Platform
from tests.sessions.sessions import Sessions
from tests.waiting import eventually

Named = Callable[[str], Person]


@pytest.fixture
def person(platform: Platform) -> Named:
    """One of the tenant's: alice is an admin, oscar an operator, vera a viewer."""
    return lambda name: Person.named(platform.admin_kubeconfig, name)


def attempt(sessions: Sessions, kind: Kind, name: str, **body: Any) -> Attempt:
    return create(kind, name, sessions.namespace, **body)


def wish(sessions: Sessions) -> Attempt:
    spec = {"tenantRef": {"name": sessions.tenant}, "sessionType": "analysis"}
    return attempt(sessions, AISESSION, "wish", spec=spec)


def job_spec() -> Manifest:
    """Of a Job that never gets to run, within the walls of the namespace."""
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


def test_roles_say_who_may_write_sessions(sessions: Sessions, person: Named) -> None:
    assert person("alice").refusal(wish(sessions)) == ""
    assert person("oscar").refusal(wish(sessions)) == ""
    assert "cannot create" in person("vera").refusal(wish(sessions))
    all_of_them = Attempt("DELETE", AISESSION.path(sessions.namespace))
    assert person("alice").refusal(all_of_them) == ""
    assert "cannot deletecollection" in person("oscar").refusal(all_of_them)
    assert person("vera").list(AISESSION, namespace=sessions.namespace)[0] == []
    assert "cannot create" in person("mallory").refusal(wish(sessions))


def test_status_is_the_platforms_word_alone(sessions: Sessions, person: Named) -> None:
    sessions.set_limit(0)
    sessions.create("honest")
    sessions.await_phase("honest", "Pending", "Queued")
    body = {"status": {"phase": "Completed", "results": {"outputData": "forged"}}}
    path = AISESSION.path(sessions.namespace, "honest")
    merge = "application/merge-patch+json"
    told = person("alice").refusal(Attempt("PATCH", f"{path}/status", body, merge))
    assert "cannot patch resource" in told
    # Beside the subresource it is left out, as the API server does with any status.
    person("alice").do(Attempt("PATCH", path, body, merge))
    assert sessions.status("honest")["phase"] == "Pending"


def test_job_that_a_user_makes_is_no_sessions(sessions: Sessions, person: Named) -> None:
    """Neither is the session started by it, nor does it take the place of another."""
    alice = person("alice")
    sessions.set_limit(0)
    uid = sessions.create("queued")["metadata"]["uid"]
    sessions.await_phase("queued", "Pending", "Queued")
    owner = {"apiVersion": AISESSION.api_version, "kind": AISESSION.kind, "name": "queued", "uid": uid}
    forged = attempt(sessions, JOB, "aisession-queued", labels={SESSION_LABEL: "queued"}, spec=job_spec())
    assert forged.body is not None
    forged.body["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    named = {**forged.body["metadata"], "labels": {SESSION_LABEL: "queued", TENANT_LABEL: sessions.tenant}}
    as_ours = Attempt("POST", forged.path, {**forged.body, "metadata": named})
    assert "only the platform sets labels" in alice.refusal(as_ours)
    alice.do(forged)
    sessions.set_limit(1)
    assert "another Job" in sessions.await_phase("queued", "Pending", "JobExists")["message"]
    sessions.create("other")
    sessions.await_phase("other", "Completed")
    alice.do(delete(JOB, "aisession-queued", sessions.namespace))
    sessions.await_phase("queued", "Completed")


def test_job_of_a_session_keeps_its_tenant(sessions: Sessions, person: Named) -> None:
    sessions.create("kept", "endless")
    sessions.await_phase("kept", "Running")
    nobodys = {"metadata": {"labels": {TENANT_LABEL: None}}}
    told = person("alice").refusal(change(JOB, "aisession-kept", nobodys, sessions.namespace))
    assert "only the platform sets labels" in told
    # Its owners are hers to take off. What she has made her own is no session's any more.
    orphaned = {"metadata": {"ownerReferences": None, "labels": {SESSION_LABEL: None}}}
    path = JOB.path(sessions.namespace, "aisession-kept")
    person("alice").do(Attempt("PATCH", path, orphaned, "application/merge-patch+json"))
    sessions.await_phase("kept", "Terminated", "JobDeleted")
    sessions.platform.admin.delete(JOB, "aisession-kept", sessions.namespace)
    eventually(lambda: not sessions.pods("kept"), "its pod is gone")
