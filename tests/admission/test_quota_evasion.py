"""If a pod no longer counts against the quota, the tenant's users cannot keep the pod running."""

from collections.abc import Iterator
from typing import Any

import pytest

from tenancy.base.kinds import DISRUPTION_BUDGET, JOB, RBAC_GROUP, ROLE_BINDING
from tenancy.base.manifest import Manifest
from tests.admission.conftest import People
from tests.admission.people import (
    NAMESPACE,
    POD,
    Attempt,
    Person,
    change,
    create,
    delete,
    denied_by,
    pod_spec,
)

YEAR_S = 31536000
TIME = "2026-01-01T00:00:00Z"


def pod_status(**status: Any) -> Attempt:
    return change(POD, "running", {"status": status}, subresource="status")


def condition(kind: str) -> Manifest:
    return {"type": kind, "status": "True", "lastTransitionTime": TIME}


def pod_with_grace_period(seconds: int) -> Attempt:
    return create(POD, "attempt", spec=pod_spec(terminationGracePeriodSeconds=seconds))


def deletion(seconds: int, name: str = "running") -> Attempt:
    """A request that deletes the pod `name`, or all pods if `name` is empty.

    `seconds` is the grace period.
    """
    # If the body contains options, the API server ignores `dryRun` in the query. So the body contains
    # `dryRun`.
    return Attempt("DELETE", POD.path(NAMESPACE, name), {"gracePeriodSeconds": seconds, "dryRun": ["All"]})


def eviction(seconds: int) -> Attempt:
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "running", "namespace": NAMESPACE},
        "deleteOptions": {"gracePeriodSeconds": seconds},
    }
    return Attempt("POST", POD.path(NAMESPACE, "running", "eviction"), body)


def job_status(**status: Any) -> Attempt:
    return change(JOB, "running", {"status": status}, subresource="status")


# Each value is a request, the policy that rejects it, and a part of the error message.
ATTACKS: dict[str, tuple[Attempt, str, str]] = {
    "a running pod says that it has succeeded": (
        pod_status(phase="Succeeded"),
        *("pod-status", "status: only Kubernetes writes the status of pods"),
    ),
    "a running pod says that it has failed": (pod_status(phase="Failed"), "pod-status", "only Kubernetes"),
    "a pod takes the address of another pod": (
        pod_status(podIP="10.0.0.1", podIPs=[{"ip": "10.0.0.1"}]),
        *("pod-status", "only Kubernetes"),
    ),
    "a pod says that it is ready": (
        pod_status(conditions=[condition("Ready")]),
        *("pod-status", "status.conditions: only Kubernetes writes these conditions"),
    ),
    "a Job says that it is complete": (
        job_status(startTime=TIME, active=0),
        *("jobs-status", "status: only Kubernetes writes the status of jobs"),
    ),
    "a disruption budget says that no pod may be disrupted": (
        change(DISRUPTION_BUDGET, "running", {"status": {"expectedPods": 9}}, subresource="status"),
        *("poddisruptionbudgets-status", "only Kubernetes writes the status of poddisruptionbudgets"),
    ),
    "a pod that ends takes a year": (
        pod_with_grace_period(YEAR_S),
        *("grace-periods", "spec.terminationGracePeriodSeconds: 31536000 is more than 3600"),
    ),
    "a deletion of all pods takes a year": (
        deletion(YEAR_S, name=""),
        *("grace-periods", "gracePeriodSeconds: 31536000 is more than 3600, the limit of this tenant"),
    ),
    "an eviction takes a year": (eviction(YEAR_S), "grace-periods", "is more than 3600"),
}

ORDINARY: dict[str, Attempt] = {
    "condition of a readiness gate": pod_status(conditions=[condition("example.test/gate")]),
    "grace period of an hour": pod_with_grace_period(3600),
    "default grace period": create(POD, "attempt", spec=pod_spec()),
    "deletion with the pod's own grace period": delete(POD, "running"),
    "deletion of all pods": Attempt("DELETE", POD.path(NAMESPACE)),
    "deletion at once": deletion(0),
    "eviction": eviction(30),
}

# Each value is the user and the group of a Kubernetes component, and a request that the component sends.
KUBERNETES: dict[str, tuple[str, str, Attempt]] = {
    "kubelet": ("kwok", "system:nodes", pod_status(phase="Running", conditions=[condition("Ready")])),
    "scheduler": (
        *("system:kube-scheduler", "system:authenticated"),
        pod_status(conditions=[condition("PodScheduled")]),
    ),
    "Job controller": (
        *("system:serviceaccount:kube-system:job-controller", "system:serviceaccounts:kube-system"),
        job_status(active=1, ready=0, startTime=TIME),
    ),
    "controller with rights in all namespaces": (
        *("carol", ""),
        job_status(active=1, ready=0, startTime=TIME),
    ),
}


@pytest.fixture(scope="module", autouse=True)
def running(people: People, administrator: Person) -> Iterator[None]:
    alice = people("alice")
    administrator.do(
        create(
            ROLE_BINDING,
            "kubernetes",
            roleRef={"apiGroup": RBAC_GROUP, "kind": "Role", "name": "tenant-operator"},
            subjects=[
                {"apiGroup": RBAC_GROUP, "kind": "User", "name": "kwok"},
                {"kind": "ServiceAccount", "name": "job-controller", "namespace": "kube-system"},
            ],
        )
    )
    gates = [{"conditionType": kind} for kind in ("example.test/gate", "Ready")]
    template = {"spec": pod_spec(restartPolicy="Never")}
    requests = (
        create(POD, "running", spec=pod_spec(readinessGates=gates)),
        create(JOB, "running", spec={"suspend": True, "template": template}),
        create(DISRUPTION_BUDGET, "running", spec={"maxUnavailable": 1}),
    )
    for request in requests:
        alice.do(request)
    yield
    for request in requests:
        alice.do(request.deletion)
    administrator.do(delete(ROLE_BINDING, "kubernetes"))


@pytest.mark.parametrize("attack", ATTACKS)
def test_quota_is_not_evaded(attack: str, alice: Person) -> None:
    request, policy, message = ATTACKS[attack]
    refusal = alice.refusal(request)
    assert denied_by(policy) in refusal
    assert message in refusal


@pytest.mark.parametrize("use", ORDINARY)
def test_ordinary_lifecycle_is_allowed(use: str, alice: Person) -> None:
    assert alice.refusal(ORDINARY[use]) == ""


@pytest.mark.parametrize("component", KUBERNETES)
def test_kubernetes_writes_status(component: str, people: People) -> None:
    user, group, request = KUBERNETES[component]
    assert people(user, group).refusal(request) == ""


def test_deletion_of_a_scheduled_pod_does_not_take_a_year(alice: Person, administrator: Person) -> None:
    """The test assigns the pod to a node.

    For a pod without a node, the API server ignores the grace period.
    """
    alice.do(create(POD, "placed", spec=pod_spec()))
    target = {"apiVersion": "v1", "kind": "Node", "name": "some-node"}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "placed"}, "target": target}
    administrator.do(Attempt("POST", POD.path(NAMESPACE, "placed", "binding"), binding))
    try:
        refusal = alice.refusal(deletion(YEAR_S, "placed"))
        assert denied_by("grace-periods") in refusal
        assert "gracePeriodSeconds: 31536000 is more than 3600" in refusal
        assert alice.refusal(deletion(60, "placed")) == ""
    finally:
        alice.do(Attempt("DELETE", POD.path(NAMESPACE, "placed"), {"gracePeriodSeconds": 0}))
