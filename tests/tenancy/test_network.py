"""The NetworkPolicies of a tenant: the mandatory policies, and those that the plan and the tenant add."""

from typing import Any

from tenancy.base.labels import object_labels
from tenancy.base.manifest import Manifest
from tenancy.desired import desired_state
from tenancy.plans import Plans
from tenancy.reachability import Endpoint, PodNetwork, Port
from tenancy.spec.tenant import tenant_from_manifest

MANDATORY = (
    "default-deny-all",
    "allow-intra-tenant",
    "tenant-isolation",
    "allow-dns",
    "allow-platform-shared",
)
EVERYTHING: dict[str, Any] = {
    "network": {
        "ingressController": {"kubernetes.io/metadata.name": "ingress-nginx"},
        "monitoring": {"team": "metrics"},
        "egress": [
            {"cidr": "203.0.113.0/24", "except": ["203.0.113.7/32"], "ports": [{"port": 443}]},
            {"cidr": "2001:db8::/32", "ports": [{"port": 8000, "endPort": 8010, "protocol": "UDP"}]},
        ],
        "ingress": [{"cidr": "198.51.100.0/24"}],
    },
    "istio": {"enabled": True},
}


def policies(plan: dict[str, Any] | None = None, **spec: Any) -> dict[str, Manifest]:
    """The specs of the NetworkPolicies in one namespace, keyed by name."""
    quotas = [{"name": "quota", "hard": {"pods": 1}}]
    plans = {"basic": {"maxNamespaces": 1, "quotas": quotas, "limits": {}, **(plan or {})}}
    tenant = tenant_from_manifest({"metadata": {"name": "acme"}, "spec": spec})
    manifests = desired_state(tenant, Plans.model_validate({"plans": plans})).manifests
    return {
        manifest["metadata"]["name"]: manifest["spec"]
        for manifest in manifests
        if manifest["kind"] == "NetworkPolicy"
    }


def test_plan_that_says_nothing_has_the_walls_and_no_holes() -> None:
    assert tuple(policies()) == MANDATORY


def test_namespace_ready_are_the_same_whatever_is_added() -> None:
    minimal, full = policies(), policies(EVERYTHING)
    assert {name: full[name] for name in MANDATORY} == minimal
    assert full.keys() - minimal.keys() == {
        "allow-ingress-controller",
        "allow-monitoring",
        "allow-egress",
        "allow-ingress",
        "allow-mesh",
    }


def test_tenant_takes_away_what_its_plan_allows_by_an_empty_list() -> None:
    reduced = policies(EVERYTHING, network={"egress": [], "ingress": []}, istio={"enabled": False})
    assert reduced.keys() - set(MANDATORY) == {"allow-ingress-controller", "allow-monitoring"}


def test_every_policy_is_a_wall_both_ways_and_leaves_no_list_to_others() -> None:
    for name, spec in policies(EVERYTHING).items():
        assert spec["podSelector"] == {}, name
        assert spec["policyTypes"] == ["Ingress", "Egress"], name
        assert spec.keys() == {"podSelector", "policyTypes", "ingress", "egress"}, name


def test_no_rule_is_open_to_all_and_every_port_says_its_protocol() -> None:
    """An empty list of peers would allow all peers. A missing protocol would look like drift."""
    for spec in policies(EVERYTHING).values():
        for rule in (*spec["ingress"], *spec["egress"]):
            assert rule.get("from") or rule.get("to")
            assert all("protocol" in port for port in rule.get("ports", ()))


def test_no_other_tenant_gets_in_or_is_reached() -> None:
    """A pod in a namespace that belongs to no tenant is blocked in the same way."""
    own, sibling = Endpoint("10.0.0.1", "tenant-acme-a"), Endpoint("10.0.0.2", "tenant-acme-b")
    labels = {endpoint.namespace: object_labels("acme") for endpoint in (own, sibling)}
    labels |= {"tenant-rival": object_labels("rival"), "default": {}}
    manifests = [
        {"metadata": {"name": name, "namespace": endpoint.namespace}, "spec": spec}
        for endpoint in (own, sibling)
        for name, spec in policies().items()
    ]
    network = PodNetwork(tuple(manifests), labels)
    assert network.allows(own, sibling, Port(80))
    for stranger in (Endpoint("10.0.0.3", "tenant-rival"), Endpoint("10.0.0.4", "default")):
        assert not network.allows(stranger, own, Port(80))
        assert not network.allows(own, stranger, Port(80))


def test_addresses_become_one_rule_each() -> None:
    specs = policies(EVERYTHING)
    assert specs["allow-egress"]["ingress"] == []
    assert specs["allow-egress"]["egress"] == [
        {
            "to": [{"ipBlock": {"cidr": "203.0.113.0/24", "except": ["203.0.113.7/32"]}}],
            "ports": [{"protocol": "TCP", "port": 443}],
        },
        {
            "to": [{"ipBlock": {"cidr": "2001:db8::/32"}}],
            "ports": [{"protocol": "UDP", "port": 8000, "endPort": 8010}],
        },
    ]
    assert specs["allow-ingress"]["ingress"] == [{"from": [{"ipBlock": {"cidr": "198.51.100.0/24"}}]}]
    assert specs["allow-ingress"]["egress"] == []


def test_mesh_lets_the_gateway_in_and_sidecars_to_the_control_plane() -> None:
    def namespace_peer(name: str) -> Manifest:
        return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}

    ports = [{"protocol": "TCP", "port": 15012}]
    spec = policies(istio={"enabled": True})["allow-mesh"]
    assert spec["ingress"] == [{"from": [namespace_peer("istio-system")]}]
    assert spec["egress"] == [{"to": [namespace_peer("istio-system")], "ports": ports}]
    spec = policies(istio={"enabled": True, "gatewayNamespace": "edge"})["allow-mesh"]
    assert spec["ingress"] == [{"from": [namespace_peer("edge")]}]
    assert spec["egress"] == [
        {"to": [namespace_peer("edge"), namespace_peer("istio-system")], "ports": ports}
    ]
