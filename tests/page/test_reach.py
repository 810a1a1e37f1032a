"""The reachability graph shows the connections that the NetworkPolicies allow."""

from typing import Any

import pytest

from tenancy.base.manifest import Manifest
from tenancy.desired import desired_state
from tenancy.plans import read_plans
from tenancy.spec.tenant import tenant_from_manifest
from watcher.page.reachability_graph import Reachability, reachability

DNS = "53/UDP, 53/TCP"


def desired_network(name: str, **spec: Any) -> tuple[list[Manifest], list[Manifest]]:
    """The namespaces and the NetworkPolicies of a tenant with this spec and the shipped plans."""
    tenant = tenant_from_manifest({"metadata": {"name": name}, "spec": {"plan": "basic", **spec}})
    manifests = desired_state(tenant, read_plans()).manifests
    namespaces, policies = (
        [manifest for manifest in manifests if manifest["kind"] == kind]
        for kind in ("Namespace", "NetworkPolicy")
    )
    return namespaces, policies


def graph(name: str, **spec: Any) -> Reachability:
    return reachability(*desired_network(name, **spec))


def edges(graph: Reachability) -> dict[tuple[str, str], str]:
    """The open ports of each edge, keyed by the labels of the source and the target."""
    labels = {node.id: node.label for node in graph.nodes}
    return {(labels[edge.source], labels[edge.target]): edge.ports for edge in graph.edges}


def policy(namespace: str, **spec: Any) -> Manifest:
    return {"metadata": {"name": "mine", "namespace": namespace}, "spec": {"podSelector": {}, **spec}}


def test_graph_of_a_default_tenant() -> None:
    network = graph("default", namespaces=[{"name": "one"}, {"name": "two"}])
    one, two = "tenant-default-one", "tenant-default-two"
    assert [(node.label, node.kind) for node in network.nodes] == [
        (one, "own"),
        (two, "own"),
        ("DNS (kube-system)", "platform"),
        ("platform-shared", "platform"),
        ("ingress-nginx", "platform"),
        ("monitoring", "platform"),
        ("other tenants", "other"),
        ("anything else outside", "outside"),
    ]
    assert edges(network) == {
        (one, two): "all",
        (two, one): "all",
        **{(own, "DNS (kube-system)"): DNS for own in (one, two)},
        **{(own, "platform-shared"): "all" for own in (one, two)},
        **{(peer, own): "all" for own in (one, two) for peer in ("ingress-nginx", "monitoring")},
    }


def test_addresses_are_reachable_only_in_their_direction_and_on_their_ports() -> None:
    partner = {"cidr": "203.0.113.0/24", "except": ["203.0.113.0/25"], "ports": [{"port": 443}]}
    customer = {"cidr": "198.51.100.0/24", "ports": [{"port": 8080, "endPort": 8085}]}
    network = graph("open", network={"egress": [partner], "ingress": [customer]})
    assert {pair: ports for pair, ports in edges(network).items() if "/" in "".join(pair)} == {
        ("tenant-open", "203.0.113.0/24 except 203.0.113.0/25"): "443/TCP",
        ("198.51.100.0/24", "tenant-open"): "8080-8085/TCP",
    }
    kinds = {node.label: node.kind for node in network.nodes}
    assert kinds["198.51.100.0/24"] == kinds["anything else outside"] == "outside"
    assert not any("anything else outside" in pair for pair in edges(network))


def test_block_within_another_has_the_rules_of_both() -> None:
    wide = {"cidr": "10.0.0.0/8", "ports": [{"port": 443}]}
    narrow = {"cidr": "10.0.0.0/16", "ports": [{"port": 80}]}
    open_ports = edges(graph("nested", network={"egress": [wide, narrow]}))
    assert open_ports["tenant-nested", "10.0.0.0/8"] == "443/TCP"
    assert open_ports["tenant-nested", "10.0.0.0/16"] == "80/TCP, 443/TCP"


def test_tenant_that_may_reach_every_address_reaches_no_other_tenant() -> None:
    network = graph("loud", network={"egress": [{"cidr": "0.0.0.0/0"}, {"cidr": "::/0"}]})
    assert edges(network)["tenant-loud", "0.0.0.0/0"] == "all"
    assert edges(network)["tenant-loud", "::/0"] == "all"
    assert not any("other tenants" in pair for pair in edges(network))
    # The policies allow all addresses.
    assert "anything else outside" not in {node.label for node in network.nodes}


def test_missing_policies_open_all_connections() -> None:
    namespaces, _ = desired_network("bare")
    open_ports = edges(reachability(namespaces, []))
    for other in ("other tenants", "anything else outside", "platform-shared"):
        assert open_ports["tenant-bare", other] == open_ports[other, "tenant-bare"] == "all"


def test_policy_that_the_tenant_created_is_included() -> None:
    namespaces, policies = desired_network("self")
    web = {"matchLabels": {"app": "web"}}
    friend = {"namespaceSelector": {"matchLabels": {"tenant.platform.ai/name": "friend"}}}
    mine = policy(
        "tenant-self",
        podSelector=web,
        policyTypes=["Ingress", "Egress"],
        ingress=[{"from": [friend], "ports": [{"port": "http"}]}],
        egress=[{"to": [{"ipBlock": {"cidr": "192.0.2.1/32"}}], "ports": [{"protocol": "UDP"}]}],
    )
    elsewhere = policy("tenant-other", ingress=[{}], egress=[{}])
    network = reachability(namespaces, [*policies, mine, elsewhere])
    assert edges(network)["namespaces with tenant.platform.ai/name=friend", "tenant-self"] == "http/TCP"
    assert edges(network)["tenant-self", "192.0.2.1/32"] == "all UDP"
    assert {node.kind for node in network.nodes if "friend" in node.label} == {"other"}
    assert ("other tenants", "tenant-self") not in edges(network)


def test_overlapping_port_ranges_are_merged() -> None:
    namespaces, policies = desired_network("ranges")
    block = [{"ipBlock": {"cidr": "192.0.2.0/24"}}]
    ports = [{"port": 80, "endPort": 90}, {"port": 85, "endPort": 100}, {"port": 101}, {"port": 443}]
    mine = policy("tenant-ranges", policyTypes=["Egress"], egress=[{"to": block, "ports": ports}])
    open_ports = edges(reachability(namespaces, [*policies, mine]))
    assert open_ports["tenant-ranges", "192.0.2.0/24"] == "80-101/TCP, 443/TCP"


def test_namespace_with_its_own_policy_is_distinguished() -> None:
    namespaces, policies = desired_network(
        "twins", namespaces=[{"name": "one"}, {"name": "two"}, {"name": "three"}]
    )
    block = [{"ipBlock": {"cidr": "192.0.2.0/24"}}]
    mine = policy("tenant-twins-two", policyTypes=["Egress"], egress=[{"to": block}])
    open_ports = edges(reachability(namespaces, [*policies, mine]))
    assert [pair for pair in open_ports if "192.0.2.0/24" in pair] == [("tenant-twins-two", "192.0.2.0/24")]


def test_cidr_is_parsed_like_in_the_api_server() -> None:
    namespaces, policies = desired_network("sloppy")
    blocks = [{"ipBlock": {"cidr": cidr}} for cidr in ("10.1.2.3/8", "192.000.002.0/24")]
    mine = policy("tenant-sloppy", policyTypes=["Egress"], egress=[{"to": blocks}])
    open_ports = edges(reachability(namespaces, [*policies, mine]))
    assert (
        open_ports["tenant-sloppy", "10.1.2.3/8"] == open_ports["tenant-sloppy", "192.000.002.0/24"] == "all"
    )


@pytest.mark.parametrize(
    "rules",
    [
        [
            {
                "to": [
                    {"ipBlock": {"cidr": "10.0.0.0/8", "except": [f"10.0.{n}.0/24" for n in range(255)] * 80}}
                ]
            }
        ],
        [{"ports": [{"port": n} for n in range(1, 60000, 2)]}],
    ],
)
def test_too_many_policies_have_no_graph(rules: list[Manifest]) -> None:
    namespaces, policies = desired_network("busy")
    pods = [{"matchLabels": {"app": f"app-{number}"}} for number in range(100)]
    mine = [policy("tenant-busy", podSelector=pod, policyTypes=["Egress"], egress=rules) for pod in pods]
    network = reachability(namespaces, [*policies, *mine])
    assert not network.edges
    assert "too many" in network.note
