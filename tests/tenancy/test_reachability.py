"""The model of NetworkPolicies follows Kubernetes' rules, one by one."""

from typing import Any

import pytest

from tenancy.base.manifest import Manifest
from tenancy.reachability import Endpoint, Network, Port, selects

UDP = {"protocol": "UDP"}
HTTP, DNS, HIGH = Port(80), Port(53, "UDP"), Port(32100)

WEB = Endpoint("10.0.0.1", "red", {"app": "web"}, {("TCP", "http"): 8080, ("UDP", "dns"): 5353})
DATABASE = Endpoint("10.0.0.2", "red", {"app": "db"})
STRANGER = Endpoint("10.0.0.3", "blue", {"app": "web"})
OUTSIDE = Endpoint("203.0.113.7")

NAMESPACES = {"red": {"colour": "red"}, "blue": {"colour": "blue", "shared": "true"}}


def policy(namespace: str = "red", **spec: Any) -> Manifest:
    return {"metadata": {"name": "any", "namespace": namespace}, "spec": {"podSelector": {}, **spec}}


def network(*policies: Manifest) -> Network:
    return Network(policies, NAMESPACES)


def ingress(*rules: Manifest) -> Network:
    return network(policy(policyTypes=["Ingress"], ingress=list(rules)))


def test_without_a_policy_all_is_allowed() -> None:
    assert network().lets(STRANGER, WEB, HTTP)
    assert network(policy("blue", policyTypes=["Ingress"])).lets(STRANGER, WEB, HTTP)


def test_selected_pod_is_isolated_in_the_named_direction_only() -> None:
    closed = network(policy(policyTypes=["Ingress"]))
    assert not closed.lets(STRANGER, WEB, HTTP)
    assert closed.lets(WEB, STRANGER, HTTP)
    mute = network(policy(policyTypes=["Egress"]))
    assert mute.lets(STRANGER, WEB, HTTP)
    assert not mute.lets(WEB, STRANGER, HTTP)


def test_both_ends_must_allow() -> None:
    opened = policy(ingress=[{}], egress=[{}])
    assert network(opened).lets(STRANGER, WEB, HTTP)
    assert not network(opened, policy("blue", policyTypes=["Egress"])).lets(STRANGER, WEB, HTTP)
    assert not network(opened, policy("blue", policyTypes=["Ingress"])).lets(WEB, STRANGER, HTTP)


def test_policy_types_follow_from_the_rules_where_they_are_left_out() -> None:
    silent = network(policy())
    assert not silent.lets(STRANGER, WEB, HTTP)
    assert silent.lets(WEB, STRANGER, HTTP)
    assert network(policy(egress=[])).lets(WEB, STRANGER, HTTP)
    speaking = network(policy(egress=[{"ports": [{"port": 443}]}]))
    assert not speaking.lets(WEB, STRANGER, HTTP)
    assert not speaking.lets(STRANGER, WEB, HTTP)


def test_rules_of_a_direction_that_the_types_leave_out_do_nothing() -> None:
    assert network(policy(policyTypes=["Ingress"], egress=[{"to": [{"podSelector": {}}]}])).lets(
        WEB, STRANGER, HTTP
    )


def test_policy_selects_pods_of_its_namespace_by_label() -> None:
    only_web = network(policy(podSelector={"matchLabels": {"app": "web"}}, policyTypes=["Ingress"]))
    assert not only_web.lets(STRANGER, WEB, HTTP)
    assert only_web.lets(STRANGER, DATABASE, HTTP)
    assert only_web.lets(WEB, STRANGER, HTTP)


def test_policies_add_up() -> None:
    both = network(
        policy(policyTypes=["Ingress"]),
        policy(ingress=[{"from": [{"namespaceSelector": {"matchLabels": {"colour": "blue"}}}]}]),
    )
    assert both.lets(STRANGER, WEB, HTTP)
    assert not both.lets(DATABASE, WEB, HTTP)


@pytest.mark.parametrize("rule", [{}, {"from": []}, {"from": None}, {"ports": []}])
def test_empty_rule_allows_everything(rule: Manifest) -> None:
    assert ingress(rule).lets(STRANGER, WEB, HTTP)
    assert ingress(rule).lets(OUTSIDE, WEB, DNS)


def test_pod_selector_alone_means_the_policys_own_namespace() -> None:
    from_web = ingress({"from": [{"podSelector": {"matchLabels": {"app": "web"}}}]})
    assert from_web.lets(WEB, DATABASE, HTTP)
    assert not from_web.lets(STRANGER, DATABASE, HTTP)
    anybody_here = ingress({"from": [{"podSelector": {}}]})
    assert anybody_here.lets(DATABASE, WEB, HTTP)
    assert not anybody_here.lets(STRANGER, WEB, HTTP)


def test_namespace_selector_alone_means_every_pod_there() -> None:
    from_blue = ingress({"from": [{"namespaceSelector": {"matchLabels": {"colour": "blue"}}}]})
    assert from_blue.lets(STRANGER, WEB, HTTP)
    assert not from_blue.lets(DATABASE, WEB, HTTP)
    from_all = ingress({"from": [{"namespaceSelector": {}}]})
    assert from_all.lets(STRANGER, WEB, HTTP)
    assert from_all.lets(DATABASE, WEB, HTTP)
    assert not from_all.lets(OUTSIDE, WEB, HTTP)


def test_two_selectors_in_one_peer_must_both_match_and_in_two_peers_either() -> None:
    blue, database = {"matchLabels": {"colour": "blue"}}, {"matchLabels": {"app": "db"}}
    one = ingress({"from": [{"namespaceSelector": blue, "podSelector": database}]})
    assert not one.lets(STRANGER, WEB, HTTP)
    assert not one.lets(DATABASE, WEB, HTTP)
    two = ingress({"from": [{"namespaceSelector": blue}, {"podSelector": database}]})
    assert two.lets(STRANGER, WEB, HTTP)
    assert two.lets(DATABASE, WEB, HTTP)


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
    opened = ingress({"from": [{"ipBlock": block}]})
    assert opened.lets(OUTSIDE, WEB, HTTP)
    assert not opened.lets(Endpoint("203.0.113.200"), WEB, HTTP)
    assert not opened.lets(Endpoint("198.51.100.1"), WEB, HTTP)
    assert not opened.lets(Endpoint("2001:db8::1"), WEB, HTTP)
    assert not opened.lets(STRANGER, WEB, HTTP)
    everything = ingress({"from": [{"ipBlock": {"cidr": "0.0.0.0/0"}}]})
    assert everything.lets(STRANGER, WEB, HTTP)


def test_selectors_never_match_an_address_outside() -> None:
    everybody = ingress({"from": [{"namespaceSelector": {}, "podSelector": {}}, {"podSelector": {}}]})
    assert not everybody.lets(OUTSIDE, WEB, HTTP)


def test_ports_are_matched_by_number_range_and_protocol() -> None:
    one = ingress({"ports": [{"port": 80}]})
    assert one.lets(STRANGER, WEB, HTTP)
    assert not one.lets(STRANGER, WEB, Port(80, "UDP"))
    assert not one.lets(STRANGER, WEB, Port(81))
    some = ingress({"ports": [{"port": 32000, "endPort": 32767, "protocol": "TCP"}, {"port": 53, **UDP}]})
    assert all(some.lets(STRANGER, WEB, port) for port in (Port(32000), HIGH, Port(32767), DNS))
    assert not any(some.lets(STRANGER, WEB, port) for port in (Port(31999), Port(32768), Port(53)))


def test_protocol_without_a_port_means_all_its_ports() -> None:
    udp = ingress({"ports": [UDP]})
    assert udp.lets(STRANGER, WEB, DNS)
    assert not udp.lets(STRANGER, WEB, HTTP)


def test_named_port_is_the_targets() -> None:
    named = ingress({"ports": [{"port": "http"}, {"port": "dns"}]})
    assert named.lets(STRANGER, WEB, Port(8080))
    assert not named.lets(STRANGER, WEB, HTTP)
    # Of the same name but in another protocol, it is another port.
    assert not named.lets(STRANGER, WEB, Port(5353, "UDP"))
    assert not named.lets(STRANGER, DATABASE, Port(8080))
    outwards = network(policy(policyTypes=["Egress"], egress=[{"ports": [{"port": "http"}]}]))
    assert outwards.lets(DATABASE, WEB, Port(8080))
    assert not outwards.lets(WEB, STRANGER, Port(8080))
    assert not outwards.lets(WEB, OUTSIDE, Port(8080))


def test_peers_and_ports_of_one_rule_must_both_match() -> None:
    rules = ingress(
        {"from": [{"podSelector": {}}], "ports": [{"port": 80}]}, {"ports": [{"port": 53, **UDP}]}
    )
    assert rules.lets(DATABASE, WEB, HTTP)
    assert not rules.lets(STRANGER, WEB, HTTP)
    assert rules.lets(STRANGER, WEB, DNS)


def test_no_policy_parts_a_pod_from_itself() -> None:
    assert network(policy(policyTypes=["Ingress", "Egress"])).lets(WEB, WEB, HTTP)
    assert not network(policy(policyTypes=["Ingress", "Egress"])).lets(DATABASE, WEB, HTTP)
