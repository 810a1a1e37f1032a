"""The walls are there whatever a plan says, and each hole is as wide as it says."""

from typing import Any

from tenancy.base.manifest import Manifest
from tenancy.base.names import object_labels
from tenancy.desired import desired_state
from tenancy.plans import Plans
from tenancy.reachability import Endpoint, Network, Port
from tenancy.spec.tenant import tenant_from_manifest

WALLS = ("default-deny-all", "allow-intra-tenant", "tenant-isolation", "allow-dns", "allow-platform-shared")
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
    """The specs of one namespace's policies, by name."""
    quotas = [{"name": "quota", "hard": {"pods": 1}}]
    plans = {"basic": {"maxNamespaces": 1, "quotas": quotas, "limits": {}, **(plan or {})}}
    tenant = tenant_from_manifest({"metadata": {"name": "acme"}, "spec": spec})
    made = desired_state(tenant, Plans.model_validate({"plans": plans})).manifests
    return {found["metadata"]["name"]: found["spec"] for found in made if found["kind"] == "NetworkPolicy"}


def test_plan_that_says_nothing_has_the_walls_and_no_holes() -> None:
    assert tuple(policies()) == WALLS


def test_walls_are_the_same_whatever_is_added() -> None:
    bare, full = policies(), policies(EVERYTHING)
    assert {name: full[name] for name in WALLS} == bare
    assert full.keys() - bare.keys() == {
        "allow-ingress-controller",
        "allow-monitoring",
        "allow-egress",
        "allow-ingress",
        "allow-mesh",
    }


def test_tenant_takes_away_what_its_plan_allows_by_an_empty_list() -> None:
    names = policies(EVERYTHING, network={"egress": [], "ingress": []}, istio={"enabled": False})
    assert names.keys() - set(WALLS) == {"allow-ingress-controller", "allow-monitoring"}


def test_every_policy_is_a_wall_both_ways_and_leaves_no_list_to_others() -> None:
    for name, spec in policies(EVERYTHING).items():
        assert spec["podSelector"] == {}, name
        assert spec["policyTypes"] == ["Ingress", "Egress"], name
        assert spec.keys() == {"podSelector", "policyTypes", "ingress", "egress"}, name


def test_no_rule_is_open_to_all_and_every_port_says_its_protocol() -> None:
    """An empty list of peers would mean everybody; an unsaid protocol would read back as drift."""
    for spec in policies(EVERYTHING).values():
        for rule in (*spec["ingress"], *spec["egress"]):
            assert rule.get("from") or rule.get("to")
            assert all("protocol" in port for port in rule.get("ports", ()))


def test_no_other_tenant_gets_in_or_is_reached() -> None:
    """Nor does a namespace that is no tenant's."""
    own, sibling = Endpoint("10.0.0.1", "tenant-acme-a"), Endpoint("10.0.0.2", "tenant-acme-b")
    labels = {place.namespace: object_labels("acme") for place in (own, sibling)}
    labels |= {"tenant-rival": object_labels("rival"), "default": {}}
    walls = [
        {"metadata": {"name": name, "namespace": place.namespace}, "spec": spec}
        for place in (own, sibling)
        for name, spec in policies().items()
    ]
    network = Network(tuple(walls), labels)
    assert network.lets(own, sibling, Port(80))
    for stranger in (Endpoint("10.0.0.3", "tenant-rival"), Endpoint("10.0.0.4", "default")):
        assert not network.lets(stranger, own, Port(80))
        assert not network.lets(own, stranger, Port(80))


def test_addresses_become_one_rule_each() -> None:
    made = policies(EVERYTHING)
    assert made["allow-egress"]["ingress"] == []
    assert made["allow-egress"]["egress"] == [
        {
            "to": [{"ipBlock": {"cidr": "203.0.113.0/24", "except": ["203.0.113.7/32"]}}],
            "ports": [{"protocol": "TCP", "port": 443}],
        },
        {
            "to": [{"ipBlock": {"cidr": "2001:db8::/32"}}],
            "ports": [{"protocol": "UDP", "port": 8000, "endPort": 8010}],
        },
    ]
    assert made["allow-ingress"]["ingress"] == [{"from": [{"ipBlock": {"cidr": "198.51.100.0/24"}}]}]
    assert made["allow-ingress"]["egress"] == []


def test_mesh_lets_the_gateway_in_and_sidecars_to_the_control_plane() -> None:
    def named(name: str) -> Manifest:
        return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}

    ports = [{"protocol": "TCP", "port": 15012}]
    spec = policies(istio={"enabled": True})["allow-mesh"]
    assert spec["ingress"] == [{"from": [named("istio-system")]}]
    assert spec["egress"] == [{"to": [named("istio-system")], "ports": ports}]
    spec = policies(istio={"enabled": True, "gatewayNamespace": "edge"})["allow-mesh"]
    assert spec["ingress"] == [{"from": [named("edge")]}]
    assert spec["egress"] == [{"to": [named("edge"), named("istio-system")], "ports": ports}]
