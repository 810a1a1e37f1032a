"""A tenant without an allow list can use every value. A tenant with an empty allow list can use no value.

Hosts and networks are different: a tenant can use only the hosts and networks in its spec.
"""

import pytest

from tenancy.base.kinds import SERVICE
from tests.admission.people import (
    CLAIM,
    INGRESS,
    POD,
    Attempt,
    Person,
    claim_spec,
    container,
    create,
    denied_by,
)

NAMESPACE = "tenant-rival"
BACKEND = {"service": {"name": "web", "port": {"number": 80}}}
RULE = {"host": "a.test", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": BACKEND}]}}


def pod(**spec: object) -> Attempt:
    nodes = {"tenancy.node-restriction.kubernetes.io/pool": "rivals"}
    spec = {"containers": [container("any.test/a", "Never")], "nodeSelector": nodes, **spec}
    return create(POD, "attempt", NAMESPACE, spec=spec)


WITHOUT_A_LIST: dict[str, Attempt] = {
    "image and pull policy": pod(),
    "runtime class": pod(runtimeClassName="raw"),
}

DENIED: dict[str, tuple[Attempt, str, str]] = {
    "host path": (pod(volumes=[{"name": "h", "hostPath": {"path": "/"}}]), "pods", "hostPath"),
    "the cluster's priority class": (pod(priorityClassName="system-cluster-critical"), "pods", "never"),
    "class with an empty list": (
        create(CLAIM, "attempt", NAMESPACE, spec=claim_spec(storageClassName="fast")),
        *("claims", "'fast' is not allowed for this tenant; allowed: none"),
    ),
    "no class with an empty list": (
        create(CLAIM, "attempt", NAMESPACE, spec=claim_spec()),
        *("claims", "'' is not allowed for this tenant; allowed: none"),
    ),
    "load balancer where the plan has none": (
        create(SERVICE, "attempt", NAMESPACE, spec={"type": "LoadBalancer", "ports": [{"port": 80}]}),
        *("services", "'LoadBalancer' is not allowed for this tenant; allowed: ClusterIP"),
    ),
    "host without hostnames": (
        create(INGRESS, "attempt", NAMESPACE, spec={"ingressClassName": "any", "rules": [RULE]}),
        *(
            "ingresses",
            "a.test is not one of the tenant's hosts, or is a wildcard; allowed: none",
        ),
    ),
}


@pytest.mark.parametrize("attempt", WITHOUT_A_LIST)
def test_without_a_list_all_is_allowed(attempt: str, mallory: Person) -> None:
    assert mallory.refusal(WITHOUT_A_LIST[attempt]) == ""


@pytest.mark.parametrize("attempt", DENIED)
def test_request_without_a_matching_list_entry_is_refused(attempt: str, mallory: Person) -> None:
    request, policy, message = DENIED[attempt]
    refusal = mallory.refusal(request)
    assert denied_by(policy) in refusal
    assert message in refusal
