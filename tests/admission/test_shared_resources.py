"""A tenant's users cannot use volumes, addresses, names, devices or priorities that are not allowed."""

from typing import Any

import pytest

from tenancy.base.kinds import DISRUPTION_BUDGET, SERVICE
from tests.admission.conftest import PRIORITY_CLASS, People
from tests.admission.network_requests import gateway, ingress, route, service
from tests.admission.people import (
    CLAIM,
    INGRESS,
    NAMESPACE,
    POD,
    Attempt,
    Person,
    change,
    claim_spec,
    container,
    create,
    delete,
    denied_by,
    pod_spec,
)
from tests.waiting import eventually

NGINX = "nginx.ingress.kubernetes.io"
EXTERNAL_DNS = "external-dns.alpha.kubernetes.io/hostname"


def claim(**spec: Any) -> Attempt:
    return create(CLAIM, "attempt", spec=claim_spec(storageClassName="fast", **spec))


def budget(**spec: Any) -> Attempt:
    return create(DISRUPTION_BUDGET, "attempt", spec={"selector": {"matchLabels": {"app": "a"}}, **spec})


def load_balancer(**spec: Any) -> Attempt:
    return service(type="LoadBalancer", allocateLoadBalancerNodePorts=False, **spec)


def annotated(request: Attempt, key: str, value: str = "x") -> Attempt:
    assert request.body is not None
    metadata = {**request.body["metadata"], "annotations": {key: value}}
    return Attempt(request.method, request.path, {**request.body, "metadata": metadata})


def pod_with_resources(part: str, **amounts: str) -> Attempt:
    resources = {"limits": amounts, "requests": amounts}
    return create(
        POD, "attempt", spec=pod_spec(**{part: [{**container(name="other"), "resources": resources}]})
    )


# Each value is a request, the policy that rejects it, and a part of the error message.
ATTACKS: dict[str, tuple[Attempt, str, str]] = {
    "a claim names a volume": (claim(volumeName="foreign"), "volumes", "spec.volumeName, spec.selector: not"),
    "a claim selects volumes": (claim(selector={"matchLabels": {"of": "rival"}}), "volumes", "not allowed"),
    "a budget allows no disruption": (
        budget(maxUnavailable=0),
        *("disruption-budgets", "spec.maxUnavailable: 0 would block the drain of nodes"),
    ),
    "a budget allows the disruption of no percent": (budget(maxUnavailable="0%"), "disruption-budgets", "0"),
    "a budget requires all pods": (
        budget(minAvailable="100%"),
        *("disruption-budgets", "spec.minAvailable: 100% would block the drain of nodes"),
    ),
    "a load balancer names its address": (
        load_balancer(loadBalancerIP="192.0.2.1"),
        *("services", "spec.loadBalancerIP: not allowed"),
    ),
    "a load balancer names its class": (
        load_balancer(loadBalancerClass="example.test/internal"),
        *("services", "spec.loadBalancerClass: example.test/internal is not allowed for this tenant"),
    ),
    "a load balancer shares an address": (
        annotated(load_balancer(), "metallb.universe.tf/allow-shared-ip"),
        *("annotations", "metadata.annotations: metallb.universe.tf/allow-shared-ip is not allowed"),
    ),
    "a load balancer takes an address by annotation": (
        annotated(load_balancer(), "lbipam.cilium.io/ips"),
        *("annotations", "lbipam.cilium.io/ips is not allowed for this tenant"),
    ),
    "a Service claims a DNS name": (annotated(service(), EXTERNAL_DNS), "annotations", EXTERNAL_DNS),
    "a Gateway claims a DNS name": (
        annotated(gateway("a.acme.example"), EXTERNAL_DNS),
        *("annotations", EXTERNAL_DNS),
    ),
    "a route claims a DNS name": (
        annotated(route("a.acme.example"), EXTERNAL_DNS),
        "annotations",
        EXTERNAL_DNS,
    ),
    "an Ingress claims a DNS name": (
        annotated(ingress("a.acme.example"), EXTERNAL_DNS),
        *("annotations", EXTERNAL_DNS),
    ),
    "an Ingress sends requests to another server for authentication": (
        annotated(ingress("a.acme.example"), f"{NGINX}/auth-url"),
        *("annotations", f"{NGINX}/auth-url is not allowed"),
    ),
    "an Ingress copies requests to another server": (
        annotated(ingress("a.acme.example"), f"{NGINX}/mirror-target"),
        *("annotations", f"{NGINX}/mirror-target is not allowed"),
    ),
    "an existing Service claims a DNS name": (
        change(SERVICE, "taken", {"metadata": {"annotations": {EXTERNAL_DNS: "rival.example"}}}),
        *("annotations", EXTERNAL_DNS),
    ),
    "an existing Ingress copies requests": (
        change(INGRESS, "taken", {"metadata": {"annotations": {f"{NGINX}/mirror-target": "x"}}}),
        *("annotations", f"{NGINX}/mirror-target"),
    ),
    "a pod takes a GPU": (
        pod_with_resources("containers", **{"nvidia.com/gpu": "1"}),
        *("pods", "spec.containers[].resources: nvidia.com/gpu"),
    ),
    "an init container takes a GPU": (
        pod_with_resources("initContainers", **{"nvidia.com/gpu": "1"}),
        *("pods", "is not allowed, because no quota of this tenant limits it; allowed: amd.com/gpu"),
    ),
    "a pod takes a priority class": (
        create(POD, "attempt", spec=pod_spec(priorityClassName="high")),
        *("priority-classes", "spec.priorityClassName: 'high' is not allowed for this tenant; allowed: low"),
    ),
}

ORDINARY: dict[str, Attempt] = {
    "claim": claim(),
    "budget of one pod": budget(maxUnavailable=1),
    "budget of a percentage": budget(maxUnavailable="10%"),
    "budget that keeps one pod": budget(minAvailable=1),
    "budget that keeps half of the pods": budget(minAvailable="50%"),
    "load balancer": load_balancer(),
    "load balancer of an allowed class": load_balancer(loadBalancerClass="example.test/public"),
    "annotation of the tenant's own": annotated(service(), "example.test/owner"),
    "allowed annotation": annotated(service(), "service.beta.kubernetes.io/allowed"),
    "harmless annotation of an Ingress": annotated(ingress("a.acme.example"), f"{NGINX}/rewrite-target"),
    "labels of an existing Service": change(SERVICE, "taken", {"metadata": {"labels": {"a": "b"}}}),
    "GPU that a quota limits": pod_with_resources("containers", **{"amd.com/gpu": "1"}),
    "ordinary resources": pod_with_resources("containers", cpu="10m", memory="16Mi"),
    "allowed priority class": create(POD, "attempt", spec=pod_spec(priorityClassName="low")),
}


@pytest.fixture(scope="module", autouse=True)
def existing(people: People) -> None:
    for request in (service(), ingress("a.acme.example")):
        assert request.body is not None
        metadata = {**request.body["metadata"], "name": "taken"}
        people("alice").do(Attempt(request.method, request.path, {**request.body, "metadata": metadata}))


@pytest.mark.parametrize("attack", ATTACKS)
def test_shared_resource_is_not_taken(attack: str, alice: Person) -> None:
    request, policy, message = ATTACKS[attack]
    refusal = alice.refusal(request)
    assert denied_by(policy) in refusal
    assert message in refusal


@pytest.mark.parametrize("use", ORDINARY)
def test_ordinary_object_is_allowed(use: str, alice: Person) -> None:
    assert alice.refusal(ORDINARY[use]) == ""


def test_statefulset_template_does_not_take_a_volume(people: People) -> None:
    account = "system:serviceaccount:kube-system:statefulset-controller"
    controller = people(account, "system:serviceaccounts:kube-system")
    assert denied_by("volumes") in controller.refusal(claim(volumeName="foreign"))
    assert controller.refusal(claim()) == ""


def test_controller_binds_a_claim_to_its_volume(people: People, alice: Person) -> None:
    binder = people(
        "system:serviceaccount:kube-system:persistent-volume-binder", "system:serviceaccounts:kube-system"
    )
    alice.do(create(CLAIM, "bound", spec=claim_spec(storageClassName="fast")))
    try:
        live = alice.get(CLAIM, "bound", NAMESPACE)
        assert live is not None
        bound = {**live, "spec": {**live["spec"], "volumeName": "pv-1"}}
        update = Attempt("PUT", CLAIM.path(NAMESPACE, "bound"), bound)
        assert binder.refusal(update) == ""
        assert denied_by("volumes") in alice.refusal(update)
    finally:
        alice.do(delete(CLAIM, "bound"))


def test_global_default_priority_class_is_always_allowed(administrator: Person, mallory: Person) -> None:
    """The tenant's list of priority classes is empty.

    The API server sets the global default on every pod without a class, so the policy must accept it.
    """
    default = create(PRIORITY_CLASS, "ordinary", value=1, globalDefault=True)
    nodes = {"tenancy.node-restriction.kubernetes.io/pool": "rivals"}
    request = create(
        POD, "attempt", "tenant-rival", spec={"containers": [container()], "nodeSelector": nodes}
    )
    high = {"containers": [container()], "nodeSelector": nodes, "priorityClassName": "high"}
    assert mallory.refusal(request) == ""
    assert denied_by("priority-classes") in mallory.refusal(create(POD, "attempt", "tenant-rival", spec=high))
    administrator.do(default)
    try:

        def has_default() -> bool:
            mallory.do(request)
            pod = mallory.get(POD, "attempt", "tenant-rival")
            mallory.do(delete(POD, "attempt", "tenant-rival"))
            return pod is not None and pod["spec"].get("priorityClassName") == "ordinary"

        eventually(has_default, "the API server sets the global default")
    finally:
        administrator.do(default.deletion)
