"""The graph of who reaches whom says what the policies say."""

from typing import Any

import pytest

from tenancy.base.manifest import Manifest
from tenancy.desired import desired_state
from tenancy.plans import read_plans
from tenancy.spec.tenant import tenant_from_manifest
from watcher.page.reachability_graph import Reachability, reachability

DNS = "53/UDP, 53/TCP"


def made(name: str, **spec: Any) -> tuple[list[Manifest], list[Manifest]]:
    """The namespaces and the policies of a tenant with this spec, on the shipped plans."""
    tenant = tenant_from_manifest({"metadata": {"name": name}, "spec": {"plan": "basic", **spec}})
    found = desired_state(tenant, read_plans()).manifests
    namespaces, policies = (
        [m for m in found if m["kind"] == kind] for kind in ("Namespace", "NetworkPolicy")
    )
    return namespaces, policies


def graph(name: str, **spec: Any) -> Reachability:
    return reachability(*made(name, **spec))


def edges(found: Reachability) -> dict[tuple[str, str], str]:
    """What gets through, by the labels of both ends."""
    labels = {node.id: node.label for node in found.nodes}
    return {(labels[edge.source], labels[edge.target]): edge.ports for edge in found.edges}


def policy(namespace: str, **spec: Any) -> Manifest:
    return {"metadata": {"name": "mine", "namespace": namespace}, "spec": {"podSelector": {}, **spec}}


def test_tenant_reaches_itself_dns_and_what_is_shared_and_is_reached_by_its_plans_neighbours() -> None:
    found = graph("walled", namespaces=[{"name": "one"}, {"name": "two"}])
    one, two = "tenant-walled-one", "tenant-walled-two"
    assert [(node.label, node.kind) for node in found.nodes] == [
        (one, "own"),
        (two, "own"),
        ("DNS (kube-system)", "platform"),
        ("platform-shared", "platform"),
        ("ingress-nginx", "platform"),
        ("monitoring", "platform"),
        ("other tenants", "other"),
        ("anything else outside", "outside"),
    ]
    assert edges(found) == {
        (one, two): "all",
        (two, one): "all",
        **{(own, "DNS (kube-system)"): DNS for own in (one, two)},
        **{(own, "platform-shared"): "all" for own in (one, two)},
        **{(peer, own): "all" for own in (one, two) for peer in ("ingress-nginx", "monitoring")},
    }


def test_addresses_are_reached_in_their_direction_and_on_their_ports_only() -> None:
    partner = {"cidr": "203.0.113.0/24", "except": ["203.0.113.0/25"], "ports": [{"port": 443}]}
    customer = {"cidr": "198.51.100.0/24", "ports": [{"port": 8080, "endPort": 8085}]}
    found = graph("open", network={"egress": [partner], "ingress": [customer]})
    assert {pair: ports for pair, ports in edges(found).items() if "/" in "".join(pair)} == {
        ("tenant-open", "203.0.113.0/24 except 203.0.113.0/25"): "443/TCP",
        ("198.51.100.0/24", "tenant-open"): "8080-8085/TCP",
    }
    kinds = {node.label: node.kind for node in found.nodes}
    assert kinds["198.51.100.0/24"] == kinds["anything else outside"] == "outside"
    assert not any("anything else outside" in pair for pair in edges(found))


def test_block_within_another_has_the_rules_of_both() -> None:
    wide = {"cidr": "10.0.0.0/8", "ports": [{"port": 443}]}
    narrow = {"cidr": "10.0.0.0/16", "ports": [{"port": 80}]}
    found = edges(graph("nested", network={"egress": [wide, narrow]}))
    assert found["tenant-nested", "10.0.0.0/8"] == "443/TCP"
    assert found["tenant-nested", "10.0.0.0/16"] == "80/TCP, 443/TCP"


def test_tenant_that_may_reach_every_address_reaches_no_other_tenant() -> None:
    found = graph("loud", network={"egress": [{"cidr": "0.0.0.0/0"}, {"cidr": "::/0"}]})
    assert edges(found)["tenant-loud", "0.0.0.0/0"] == "all"
    assert edges(found)["tenant-loud", "::/0"] == "all"
    assert not any("other tenants" in pair for pair in edges(found))
    # There is nothing else.
    assert "anything else outside" not in {node.label for node in found.nodes}


def test_walls_that_are_gone_are_seen() -> None:
    namespaces, _ = made("bare")
    found = edges(reachability(namespaces, []))
    for other in ("other tenants", "anything else outside", "platform-shared"):
        assert found["tenant-bare", other] == found[other, "tenant-bare"] == "all"


def test_policy_of_the_tenants_own_for_some_pods_counts() -> None:
    namespaces, policies = made("self")
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
    found = reachability(namespaces, [*policies, mine, elsewhere])
    assert edges(found)["namespaces with tenant.platform.ai/name=friend", "tenant-self"] == "http/TCP"
    assert edges(found)["tenant-self", "192.0.2.1/32"] == "all UDP"
    assert {node.kind for node in found.nodes if "friend" in node.label} == {"other"}
    assert ("other tenants", "tenant-self") not in edges(found)


def test_overlapping_ranges_are_told_as_one() -> None:
    namespaces, policies = made("ranges")
    block = [{"ipBlock": {"cidr": "192.0.2.0/24"}}]
    ports = [{"port": 80, "endPort": 90}, {"port": 85, "endPort": 100}, {"port": 101}, {"port": 443}]
    mine = policy("tenant-ranges", policyTypes=["Egress"], egress=[{"to": block, "ports": ports}])
    found = edges(reachability(namespaces, [*policies, mine]))
    assert found["tenant-ranges", "192.0.2.0/24"] == "80-101/TCP, 443/TCP"


def test_namespace_with_rules_of_its_own_is_told_from_its_sisters() -> None:
    namespaces, policies = made("twins", namespaces=[{"name": "one"}, {"name": "two"}, {"name": "three"}])
    block = [{"ipBlock": {"cidr": "192.0.2.0/24"}}]
    mine = policy("tenant-twins-two", policyTypes=["Egress"], egress=[{"to": block}])
    found = edges(reachability(namespaces, [*policies, mine]))
    assert [pair for pair in found if "192.0.2.0/24" in pair] == [("tenant-twins-two", "192.0.2.0/24")]


def test_block_is_read_as_the_api_server_reads_it() -> None:
    namespaces, policies = made("sloppy")
    blocks = [{"ipBlock": {"cidr": cidr}} for cidr in ("10.1.2.3/8", "192.000.002.0/24")]
    mine = policy("tenant-sloppy", policyTypes=["Egress"], egress=[{"to": blocks}])
    found = edges(reachability(namespaces, [*policies, mine]))
    assert found["tenant-sloppy", "10.1.2.3/8"] == found["tenant-sloppy", "192.000.002.0/24"] == "all"


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
def test_policies_beyond_all_measure_keep_nobody_busy(rules: list[Manifest]) -> None:
    namespaces, policies = made("busy")
    pods = [{"matchLabels": {"app": f"app-{number}"}} for number in range(100)]
    mine = [policy("tenant-busy", podSelector=pod, policyTypes=["Egress"], egress=rules) for pod in pods]
    found = reachability(namespaces, [*policies, *mine])
    assert not found.edges
    assert "too many" in found.note
