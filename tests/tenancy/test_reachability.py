"""`PodNetwork` evaluates NetworkPolicies by the rules of Kubernetes."""

from typing import Any

import pytest

from tenancy.base.manifest import Manifest
from tenancy.reachability import Endpoint, PodNetwork, Port, selects

UDP = {"protocol": "UDP"}
HTTP, DNS, HIGH = Port(80), Port(53, "UDP"), Port(32100)

WEB = Endpoint("10.0.0.1", "red", {"app": "web"}, {("TCP", "http"): 8080, ("UDP", "dns"): 5353})
DATABASE = Endpoint("10.0.0.2", "red", {"app": "db"})
STRANGER = Endpoint("10.0.0.3", "blue", {"app": "web"})
OUTSIDE = Endpoint("203.0.113.7")

NAMESPACES = {"red": {"colour": "red"}, "blue": {"colour": "blue", "shared": "true"}}


def policy(namespace: str = "red", **spec: Any) -> Manifest:
    return {"metadata": {"name": "any", "namespace": namespace}, "spec": {"podSelector": {}, **spec}}


def network(*policies: Manifest) -> PodNetwork:
    return PodNetwork(policies, NAMESPACES)


def ingress(*rules: Manifest) -> PodNetwork:
    return network(policy(policyTypes=["Ingress"], ingress=list(rules)))


def test_without_a_policy_all_is_allowed() -> None:
    assert network().allows(STRANGER, WEB, HTTP)
    assert network(policy("blue", policyTypes=["Ingress"])).allows(STRANGER, WEB, HTTP)


def test_selected_pod_is_isolated_in_the_named_direction_only() -> None:
    no_ingress = network(policy(policyTypes=["Ingress"]))
    assert not no_ingress.allows(STRANGER, WEB, HTTP)
    assert no_ingress.allows(WEB, STRANGER, HTTP)
    no_egress = network(policy(policyTypes=["Egress"]))
    assert no_egress.allows(STRANGER, WEB, HTTP)
    assert not no_egress.allows(WEB, STRANGER, HTTP)


def test_both_ends_must_allow() -> None:
    allow_all = policy(ingress=[{}], egress=[{}])
    assert network(allow_all).allows(STRANGER, WEB, HTTP)
    assert not network(allow_all, policy("blue", policyTypes=["Egress"])).allows(STRANGER, WEB, HTTP)
    assert not network(allow_all, policy("blue", policyTypes=["Ingress"])).allows(WEB, STRANGER, HTTP)


def test_policy_types_follow_from_the_rules_where_they_are_left_out() -> None:
    without_rules = network(policy())
    assert not without_rules.allows(STRANGER, WEB, HTTP)
    assert without_rules.allows(WEB, STRANGER, HTTP)
    assert network(policy(egress=[])).allows(WEB, STRANGER, HTTP)
    with_egress_rule = network(policy(egress=[{"ports": [{"port": 443}]}]))
    assert not with_egress_rule.allows(WEB, STRANGER, HTTP)
    assert not with_egress_rule.allows(STRANGER, WEB, HTTP)


def test_rules_of_a_direction_that_the_types_leave_out_do_nothing() -> None:
    assert network(policy(policyTypes=["Ingress"], egress=[{"to": [{"podSelector": {}}]}])).allows(
        WEB, STRANGER, HTTP
    )


def test_policy_selects_pods_of_its_namespace_by_label() -> None:
    only_web = network(policy(podSelector={"matchLabels": {"app": "web"}}, policyTypes=["Ingress"]))
    assert not only_web.allows(STRANGER, WEB, HTTP)
    assert only_web.allows(STRANGER, DATABASE, HTTP)
    assert only_web.allows(WEB, STRANGER, HTTP)


def test_policies_add_up() -> None:
    both = network(
        policy(policyTypes=["Ingress"]),
        policy(ingress=[{"from": [{"namespaceSelector": {"matchLabels": {"colour": "blue"}}}]}]),
    )
    assert both.allows(STRANGER, WEB, HTTP)
    assert not both.allows(DATABASE, WEB, HTTP)


@pytest.mark.parametrize("rule", [{}, {"from": []}, {"from": None}, {"ports": []}])
def test_empty_rule_allows_everything(rule: Manifest) -> None:
    assert ingress(rule).allows(STRANGER, WEB, HTTP)
    assert ingress(rule).allows(OUTSIDE, WEB, DNS)


def test_pod_selector_alone_means_the_policys_own_namespace() -> None:
    from_web = ingress({"from": [{"podSelector": {"matchLabels": {"app": "web"}}}]})
    assert from_web.allows(WEB, DATABASE, HTTP)
    assert not from_web.allows(STRANGER, DATABASE, HTTP)
    from_own_namespace = ingress({"from": [{"podSelector": {}}]})
    assert from_own_namespace.allows(DATABASE, WEB, HTTP)
    assert not from_own_namespace.allows(STRANGER, WEB, HTTP)


def test_namespace_selector_alone_means_every_pod_there() -> None:
    from_blue = ingress({"from": [{"namespaceSelector": {"matchLabels": {"colour": "blue"}}}]})
    assert from_blue.allows(STRANGER, WEB, HTTP)
    assert not from_blue.allows(DATABASE, WEB, HTTP)
    from_all = ingress({"from": [{"namespaceSelector": {}}]})
    assert from_all.allows(STRANGER, WEB, HTTP)
    assert from_all.allows(DATABASE, WEB, HTTP)
    assert not from_all.allows(OUTSIDE, WEB, HTTP)


def test_two_selectors_in_one_peer_must_both_match_and_in_two_peers_either() -> None:
    blue, database = {"matchLabels": {"colour": "blue"}}, {"matchLabels": {"app": "db"}}
    one_peer = ingress({"from": [{"namespaceSelector": blue, "podSelector": database}]})
    assert not one_peer.allows(STRANGER, WEB, HTTP)
    assert not one_peer.allows(DATABASE, WEB, HTTP)
    two_peers = ingress({"from": [{"namespaceSelector": blue}, {"podSelector": database}]})
    assert two_peers.allows(STRANGER, WEB, HTTP)
    assert two_peers.allows(DATABASE, WEB, HTTP)


@pytest.mark.parametrize(
    ("operator", "values", "matching"),
    [
        ("In", ["a", "b"], {"a"}),
        ("NotIn", ["a"], {"c", None}),
        ("Exists", [], {"a", "c"}),
        ("DoesNotExist", [], {None}),
    ],
)
def test_expressions_select_as_kubernetes_does(
    operator: str, values: list[str], matching: set[str | None]
) -> None:
    selector = {"matchExpressions": [{"key": "tier", "operator": operator, "values": values}]}
    for value in ("a", "c", None):
        labels = {"tier": value} if value else {"other": "a"}
        assert selects(selector, labels) == (value in matching), value


def test_labels_and_expressions_must_all_match() -> None:
    selector = {
        "matchLabels": {"app": "web", "tier": "a"},
        "matchExpressions": [{"key": "old", "operator": "DoesNotExist"}],
    }
    assert selects(selector, {"app": "web", "tier": "a"})
    assert not selects(selector, {"app": "web"})
    assert not selects(selector, {"app": "web", "tier": "a", "old": ""})


def test_ip_block_holds_its_addresses_but_for_the_exceptions() -> None:
    block = {"cidr": "203.0.113.0/24", "except": ["203.0.113.128/25"]}
    from_block = ingress({"from": [{"ipBlock": block}]})
    assert from_block.allows(OUTSIDE, WEB, HTTP)
    assert not from_block.allows(Endpoint("203.0.113.200"), WEB, HTTP)
    assert not from_block.allows(Endpoint("198.51.100.1"), WEB, HTTP)
    assert not from_block.allows(Endpoint("2001:db8::1"), WEB, HTTP)
    assert not from_block.allows(STRANGER, WEB, HTTP)
    from_all_addresses = ingress({"from": [{"ipBlock": {"cidr": "0.0.0.0/0"}}]})
    assert from_all_addresses.allows(STRANGER, WEB, HTTP)


def test_selectors_never_match_an_address_outside() -> None:
    from_all_pods = ingress({"from": [{"namespaceSelector": {}, "podSelector": {}}, {"podSelector": {}}]})
    assert not from_all_pods.allows(OUTSIDE, WEB, HTTP)


def test_ports_are_matched_by_number_range_and_protocol() -> None:
    one_port = ingress({"ports": [{"port": 80}]})
    assert one_port.allows(STRANGER, WEB, HTTP)
    assert not one_port.allows(STRANGER, WEB, Port(80, "UDP"))
    assert not one_port.allows(STRANGER, WEB, Port(81))
    ports = ingress({"ports": [{"port": 32000, "endPort": 32767, "protocol": "TCP"}, {"port": 53, **UDP}]})
    assert all(ports.allows(STRANGER, WEB, port) for port in (Port(32000), HIGH, Port(32767), DNS))
    assert not any(ports.allows(STRANGER, WEB, port) for port in (Port(31999), Port(32768), Port(53)))


def test_protocol_without_a_port_means_all_its_ports() -> None:
    udp = ingress({"ports": [UDP]})
    assert udp.allows(STRANGER, WEB, DNS)
    assert not udp.allows(STRANGER, WEB, HTTP)


def test_named_port_is_the_targets() -> None:
    named = ingress({"ports": [{"port": "http"}, {"port": "dns"}]})
    assert named.allows(STRANGER, WEB, Port(8080))
    assert not named.allows(STRANGER, WEB, HTTP)
    # The rule allows the TCP port with this name, but not the UDP port.
    assert not named.allows(STRANGER, WEB, Port(5353, "UDP"))
    assert not named.allows(STRANGER, DATABASE, Port(8080))
    egress = network(policy(policyTypes=["Egress"], egress=[{"ports": [{"port": "http"}]}]))
    assert egress.allows(DATABASE, WEB, Port(8080))
    assert not egress.allows(WEB, STRANGER, Port(8080))
    assert not egress.allows(WEB, OUTSIDE, Port(8080))


def test_peers_and_ports_of_one_rule_must_both_match() -> None:
    rules = ingress(
        {"from": [{"podSelector": {}}], "ports": [{"port": 80}]}, {"ports": [{"port": 53, **UDP}]}
    )
    assert rules.allows(DATABASE, WEB, HTTP)
    assert not rules.allows(STRANGER, WEB, HTTP)
    assert rules.allows(STRANGER, WEB, DNS)


def test_no_policy_parts_a_pod_from_itself() -> None:
    assert network(policy(policyTypes=["Ingress", "Egress"])).allows(WEB, WEB, HTTP)
    assert not network(policy(policyTypes=["Ingress", "Egress"])).allows(DATABASE, WEB, HTTP)
