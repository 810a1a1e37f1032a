"""Evaluates NetworkPolicies, to find out which endpoints can connect to each other.

An endpoint is a pod or an address. The pods do not have to exist in the cluster.

With some network plugins, an ipBlock also matches the addresses of pods. This module assumes such a plugin.
So another plugin may block a connection that this module reports as allowed.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final

from tenancy.base.manifest import Manifest

Labels = Mapping[str, str]
IpNetwork = IPv4Network | IPv6Network

_LEADING_ZEROS: Final = re.compile(r"(^|[.:])0+(?=\d)")


@dataclass(frozen=True)
class Endpoint:
    """One end of a connection: a pod, or an address outside the cluster.

    The endpoint is a pod if `namespace` is set. If `address` is empty, no ipBlock matches the endpoint.
    """

    address: str
    namespace: str = ""
    labels: Labels = field(default_factory=dict)
    # The port numbers of the pod's named ports, by protocol and name.
    named_ports: Mapping[tuple[str, str], int] = field(default_factory=dict)


@dataclass(frozen=True)
class Port:
    number: int
    protocol: str = "TCP"

    def __str__(self) -> str:
        return f"{self.number}/{self.protocol}"


@dataclass(frozen=True)
class PodNetwork:
    """The pod network of a cluster: the NetworkPolicies, and the labels of each namespace."""

    policies: tuple[Manifest, ...]
    namespaces: Mapping[str, Labels]

    @classmethod
    def from_manifests(cls, policies: Iterable[Manifest], namespaces: Iterable[Manifest]) -> "PodNetwork":
        labels = {
            namespace["metadata"]["name"]: namespace["metadata"].get("labels") or {}
            for namespace in namespaces
        }
        return cls(tuple(policies), labels)

    def without_policy(self, name: str) -> "PodNetwork":
        """A copy in which no namespace has a policy of this name."""
        policies = tuple(policy for policy in self.policies if policy["metadata"]["name"] != name)
        return PodNetwork(policies, self.namespaces)

    def allows(self, source: Endpoint, target: Endpoint, port: Port) -> bool:
        """Whether the policies of both endpoints allow the connection. A pod can always connect to itself."""
        return source == target or (
            self._end_allows("Egress", source, target, target, port)
            and self._end_allows("Ingress", target, source, target, port)
        )

    def _end_allows(
        self, direction: str, own: Endpoint, peer: Endpoint, target: Endpoint, port: Port
    ) -> bool:
        """Whether the policies that select the endpoint `own` allow the connection.

        `direction` is `Ingress` or `Egress`, and `peer` is the other endpoint. If no policy for this
        direction selects `own`, every connection is allowed. Otherwise, at least one of the policies must
        allow the connection.
        """
        if not own.namespace:
            return True
        selecting_policies = [
            policy
            for policy in self.policies
            if policy["metadata"]["namespace"] == own.namespace
            and direction in _policy_types(policy["spec"])
            and selects(policy["spec"].get("podSelector"), own.labels)
        ]
        peers_field = "from" if direction == "Ingress" else "to"
        return not selecting_policies or any(
            self._matches_any_peer(rule.get(peers_field), peer, own.namespace)
            and _matches_any_port(rule.get("ports"), port, target.named_ports)
            for policy in selecting_policies
            for rule in policy["spec"].get(direction.lower()) or []
        )

    def _matches_any_peer(
        self, peers: list[Manifest] | None, endpoint: Endpoint, policy_namespace: str
    ) -> bool:
        return not peers or any(self._matches_peer(peer, endpoint, policy_namespace) for peer in peers)

    def _matches_peer(self, peer: Manifest, endpoint: Endpoint, policy_namespace: str) -> bool:
        if "ipBlock" in peer:
            return _is_in_block(peer["ipBlock"], endpoint.address)
        if not endpoint.namespace:
            return False
        if "namespaceSelector" in peer:
            is_in_namespace = selects(peer["namespaceSelector"], self.namespaces[endpoint.namespace])
        else:
            is_in_namespace = endpoint.namespace == policy_namespace
        return is_in_namespace and selects(peer.get("podSelector"), endpoint.labels)


def selects(selector: Manifest | None, labels: Labels) -> bool:
    """Whether a label selector matches the labels. An empty or missing selector matches all labels."""
    selector = selector or {}
    return all(
        labels.get(key) == value for key, value in (selector.get("matchLabels") or {}).items()
    ) and all(
        _OPERATORS[expression["operator"]](labels.get(expression["key"]), expression.get("values") or [])
        for expression in selector.get("matchExpressions") or []
    )


_OPERATORS: Mapping[str, Callable[[str | None, list[str]], bool]] = {
    "In": lambda value, values: value in values,
    "NotIn": lambda value, values: value not in values,
    "Exists": lambda value, _: value is not None,
    "DoesNotExist": lambda value, _: value is None,
}


def _policy_types(spec: Manifest) -> list[str]:
    """The `policyTypes` of a NetworkPolicy.

    If the field is not set, the result is `Ingress`, or both types if the NetworkPolicy has egress rules.
    """
    default = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    return spec.get("policyTypes") or default


def _is_in_block(block: Manifest, address: str) -> bool:
    if not address:
        return False
    ip = ip_address(address)
    return ip in network_from_cidr(block["cidr"]) and not any(
        ip in network_from_cidr(excluded) for excluded in block.get("except") or []
    )


def network_from_cidr(cidr: str) -> IpNetwork:
    """The network of a CIDR. Like the API server, this function ignores host bits and leading zeros."""
    return ip_network(_LEADING_ZEROS.sub(r"\1", cidr), strict=False)


def _matches_any_port(
    rule_ports: list[Manifest] | None, port: Port, named_ports: Mapping[tuple[str, str], int]
) -> bool:
    return not rule_ports or any(_matches_port(rule_port, port, named_ports) for rule_port in rule_ports)


def _matches_port(rule_port: Manifest, port: Port, named_ports: Mapping[tuple[str, str], int]) -> bool:
    protocol = rule_port.get("protocol", "TCP")
    if protocol != port.protocol:
        return False
    first = rule_port.get("port")
    if first is None:
        return True
    if isinstance(first, str):
        return named_ports.get((protocol, first)) == port.number
    return bool(first <= port.number <= (rule_port.get("endPort") or first))
