"""A tenant's users cannot forge the result of an AISession by changing its Job or its pod."""

from collections.abc import Iterator
from typing import Any

import pytest

from cluster.errors import ClusterError
from tenancy.base.kinds import JOB
from tests.admission.conftest import People
from tests.admission.people import (
    NAMESPACE,
    POD,
    Attempt,
    Person,
    change,
    container,
    create,
    delete,
    denied_by,
    pod_spec,
)

NAME = "aisession-study"


def job(name: str, **metadata: Any) -> Attempt:
    request = create(JOB, name, spec={"template": {"spec": pod_spec(restartPolicy="Never")}})
    assert request.body is not None
    return Attempt("POST", request.path, {**request.body, "metadata": metadata or request.body["metadata"]})


# Each value is a request, and the policy that rejects it.
ATTACKS: dict[str, tuple[Attempt, str]] = {
    "a command runs in the pod": (Attempt("POST", POD.path(NAMESPACE, f"{NAME}-x", "exec")), "session-pods"),
    "a user attaches to the pod": (
        Attempt("POST", POD.path(NAMESPACE, f"{NAME}-x", "attach")),
        "session-pods",
    ),
    "the pod gets another image": (
        change(POD, f"{NAME}-x", {"spec": {"containers": [{"name": "main", "image": "registry.example/b"}]}}),
        "session-pods",
    ),
    "the pod gets another container": (
        change(
            *(POD, f"{NAME}-x", {"spec": {"ephemeralContainers": [container(name="debug")]}}),
            subresource="ephemeralcontainers",
        ),
        "session-pods",
    ),
    "the Job ends at once": (change(JOB, NAME, {"spec": {"activeDeadlineSeconds": 1}}), "session-jobs"),
    "the Job is suspended": (change(JOB, NAME, {"spec": {"suspend": True}}), "session-jobs"),
    "the Job gets labels": (change(JOB, NAME, {"metadata": {"labels": {"a": "b"}}}), "session-jobs"),
    "a user creates a Job of this name": (job("aisession-mine"), "session-jobs"),
    "a user creates a Job with this prefix": (job("", generateName="aisession-"), "session-jobs"),
}

ORDINARY: dict[str, Attempt] = {
    "Job": job("batch"),
    "Job of a generated name": job("", generateName="batch-"),
    "the session's pod is deleted": delete(POD, f"{NAME}-x"),
    "the session's Job is deleted": delete(JOB, NAME),
    "the session's log is read": Attempt("GET", POD.path(NAMESPACE, f"{NAME}-x")),
}


@pytest.fixture(scope="module", autouse=True)
def session_objects(people: People, administrator: Person) -> Iterator[None]:
    """Create a Job and a pod with the same names as the Job and the pod of a session."""
    spec = {"suspend": False, "parallelism": 0, "template": {"spec": pod_spec(restartPolicy="Never")}}
    requests = (create(POD, f"{NAME}-x", spec=pod_spec()), create(JOB, NAME, spec=spec))
    people("alice")
    for request in requests:
        administrator.do(request)
    yield
    for request in requests:
        administrator.do(request.deletion)


@pytest.mark.parametrize("attack", ATTACKS)
def test_session_result_is_not_forged(attack: str, alice: Person) -> None:
    request, policy = ATTACKS[attack]
    is_connection = request.path.endswith(("/exec", "/attach"))
    refusal = alice.refusal(request, is_dry_run=not is_connection)
    assert denied_by(policy) in refusal


def test_user_runs_commands_in_own_pods(alice: Person) -> None:
    """The policies accept the request. The API server then reports that the pod does not exist."""
    attempt = Attempt("POST", POD.path(NAMESPACE, "own", "exec"))
    with pytest.raises(ClusterError, match='pods "own" not found'):
        alice.refusal(attempt, is_dry_run=False)


@pytest.mark.parametrize("use", ORDINARY)
def test_ordinary_use_is_allowed(use: str, alice: Person) -> None:
    assert alice.refusal(ORDINARY[use]) == ""
