"""A tenant's pods run only on nodes that the tenant may use.

They cannot prevent the pods of other tenants from running on a node.
"""

from typing import Any

import pytest

from tenancy.base.manifest import Manifest
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

POOL = "tenancy.node-restriction.kubernetes.io/pool"
RIVALS_POOL = {POOL: "rivals"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
APP = {"matchLabels": {"app": "web"}}


def pod(**spec: Any) -> Attempt:
    return create(POD, "attempt", spec=pod_spec(**spec))


def rivals_pod(**spec: Any) -> Attempt:
    spec = {"containers": [container()], "nodeSelector": RIVALS_POOL, **spec}
    return create(POD, "attempt", "tenant-rival", spec=spec)


def tolerating(**toleration: str) -> Attempt:
    return pod(tolerations=[toleration])


def with_node_affinity(term: Manifest) -> Attempt:
    return pod(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}})


def with_preferred_node(term: Manifest) -> Attempt:
    return pod(affinity={"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": term}]}})


def term_of(key: str, *values: str, operator: str = "In") -> Manifest:
    expression = {"key": key, "operator": operator, **({"values": list(values)} if values else {})}
    return {"matchExpressions": [expression]}


def with_pod_affinity(kind: str, **term: Any) -> Attempt:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": APP, **term}
    return pod(affinity={kind: {REQUIRED: [term]}})


def with_preferred_pod(**term: Any) -> Attempt:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": APP, **term}
    return pod(affinity={"podAntiAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": term}]}})


NODE_FIELD = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["control-plane"]}]}
EVERY_TAINT = (
    "spec.tolerations: every taint is not allowed for this tenant; allowed: gpu=a100:NoSchedule, spot"
)
FOREIGN_NODES = f"{POOL} selects the dedicated nodes of another tenant"

# Each value is a request, and a part of the error message.
ATTACKS: dict[str, tuple[Attempt, str]] = {
    "a pod names its node": (pod(nodeName="control-plane"), "spec.nodeName: must not be set"),
    "a pod tolerates every taint": (tolerating(operator="Exists"), EVERY_TAINT),
    "a pod tolerates every taint of an effect": (
        tolerating(operator="Exists", effect="NoSchedule"),
        EVERY_TAINT,
    ),
    "a pod tolerates the control plane's taint": (
        tolerating(key="node-role.kubernetes.io/control-plane", operator="Exists"),
        "spec.tolerations: node-role.kubernetes.io/control-plane is not allowed",
    ),
    "a pod tolerates the taint of another tenant's nodes": (
        tolerating(key=POOL, value="rivals", effect="NoSchedule"),
        f"spec.tolerations: {POOL} is not allowed",
    ),
    "a pod tolerates the taints of all dedicated nodes": (tolerating(key=POOL, operator="Exists"), POOL),
    "a pod tolerates another value of an allowed key": (tolerating(key="gpu", value="h100"), "gpu is not"),
    "a pod tolerates another effect of an allowed taint": (
        tolerating(key="gpu", value="a100", effect="NoExecute"),
        "gpu is not allowed",
    ),
    "a pod tolerates every value of an allowed taint": (
        tolerating(key="gpu", operator="Exists"),
        "gpu is not",
    ),
    "a pod selects another tenant's nodes": (
        pod(nodeSelector={"pool": "tenants", **RIVALS_POOL}),
        f"spec.nodeSelector: {FOREIGN_NODES}",
    ),
    "a pod names its node by affinity": (
        with_node_affinity(NODE_FIELD),
        "spec.affinity.nodeAffinity: matchFields is not allowed",
    ),
    "a pod prefers a node by name": (with_preferred_node(NODE_FIELD), "matchFields is not allowed"),
    "a pod selects another tenant's nodes by affinity": (
        with_node_affinity(term_of(POOL, "rivals")),
        f"spec.affinity.nodeAffinity: {FOREIGN_NODES}",
    ),
    "a pod prefers another tenant's nodes": (with_preferred_node(term_of(POOL, "rivals")), FOREIGN_NODES),
    "a pod selects all dedicated nodes": (
        with_node_affinity(term_of(POOL, operator="Exists")),
        FOREIGN_NODES,
    ),
    "a pod keeps the pods of all tenants off the nodes": (
        with_pod_affinity("podAntiAffinity", namespaceSelector={}, topologyKey="kubernetes.io/os"),
        "spec.affinity: pod affinity must not name other namespaces",
    ),
    "a pod keeps another tenant's pods off its node": (
        with_pod_affinity("podAntiAffinity", namespaces=["tenant-rival"]),
        "must not name other namespaces",
    ),
    "a pod follows another tenant's pods": (
        with_pod_affinity("podAffinity", namespaces=["tenant-acme", "tenant-rival"]),
        "must not name other namespaces",
    ),
    "a pod prefers to be away from all tenants": (
        with_preferred_pod(namespaceSelector={}),
        "must not name other namespaces",
    ),
}

ORDINARY: dict[str, Attempt] = {
    "tolerations that Kubernetes adds": pod(
        tolerations=[
            {
                "key": f"node.kubernetes.io/{state}",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            }
            for state in ("not-ready", "unreachable")
        ]
    ),
    "allowed taint": tolerating(key="gpu", value="a100", effect="NoSchedule"),
    "every effect of an allowed key": tolerating(key="spot", operator="Exists"),
    "one value of an allowed key": tolerating(key="spot", value="yes", effect="NoExecute"),
    "node affinity by label": with_node_affinity(term_of("topology.kubernetes.io/zone", "a", "b")),
    "preferred nodes": with_preferred_node(term_of("disk", "ssd")),
    "replicas on different nodes": with_pod_affinity("podAntiAffinity"),
    "own namespace by name": with_pod_affinity("podAffinity", namespaces=["tenant-acme"]),
    "replicas preferably on different nodes": with_preferred_pod(),
    "spread over zones": pod(
        topologySpreadConstraints=[
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": APP,
            }
        ]
    ),
}

OWN_NODES: dict[str, Attempt] = {
    "selector": rivals_pod(),
    "selector and toleration": rivals_pod(
        tolerations=[{"key": POOL, "value": "rivals", "effect": "NoSchedule"}]
    ),
    "affinity": rivals_pod(
        affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term_of(POOL, "rivals")]}}}
    ),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_pod_gets_no_foreign_node(attack: str, alice: Person) -> None:
    request, message = ATTACKS[attack]
    refusal = alice.refusal(request)
    assert denied_by("scheduling") in refusal
    assert message in refusal


@pytest.mark.parametrize("use", ORDINARY)
def test_ordinary_pod_is_scheduled(use: str, alice: Person) -> None:
    assert alice.refusal(ORDINARY[use]) == ""


@pytest.mark.parametrize("use", OWN_NODES)
def test_tenant_uses_its_dedicated_nodes(use: str, mallory: Person) -> None:
    assert mallory.refusal(OWN_NODES[use]) == ""


def test_tenant_with_dedicated_nodes_uses_no_others(mallory: Person) -> None:
    refusal = mallory.refusal(rivals_pod(nodeSelector={"pool": "tenants"}))
    assert denied_by("pods") in refusal
    assert f"spec.nodeSelector: must contain {POOL}=rivals" in refusal


def test_running_pod_gets_no_other_toleration(alice: Person) -> None:
    alice.do(create(POD, "tolerant", spec=pod_spec()))
    try:
        live = alice.get(POD, "tolerant", NAMESPACE)
        assert live is not None
        everything = {"spec": {"tolerations": [*live["spec"]["tolerations"], {"operator": "Exists"}]}}
        assert denied_by("scheduling") in alice.refusal(change(POD, "tolerant", everything))
    finally:
        alice.do(delete(POD, "tolerant"))
