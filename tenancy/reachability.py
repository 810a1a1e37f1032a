"""Who can reach whom under a set of NetworkPolicies, by the rules that Kubernetes sets for them.

Pure: it takes policies and namespaces as they are in the cluster, and pods that need not run. The page draws
it. An ipBlock is matched with the address of a pod too, as some network plugins do: the less safe reading.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final

from tenancy.base.manifest import Manifest

Labels = Mapping[str, str]
Net = IPv4Network | IPv6Network

_LEADING_ZEROS: Final = re.compile(r"(^|[.:])0+(?=\d)")


@dataclass(frozen=True)
class Endpoint:
    """One end of a connection: a pod, or an address outside where there is no namespace. A pod without an
    address is in no ipBlock."""

    address: str
    namespace: str = ""
    labels: Labels = field(default_factory=dict)
    # The numbers behind the names of the pod's ports, by protocol and name.
    named_ports: Mapping[tuple[str, str], int] = field(default_factory=dict)


@dataclass(frozen=True)
class Port:
    number: int
    protocol: str = "TCP"

    def __str__(self) -> str:
        return f"{self.number}/{self.protocol}"


@dataclass(frozen=True)
class Network:
    """Policies, and the labels of every namespace."""

    policies: tuple[Manifest, ...]
    namespaces: Mapping[str, Labels]

    @classmethod
    def of(cls, policies: Iterable[Manifest], namespaces: Iterable[Manifest]) -> "Network":
        labels = {found["metadata"]["name"]: found["metadata"].get("labels") or {} for found in namespaces}
        return cls(tuple(policies), labels)

    def without(self, policy: str) -> "Network":
        """The same where every policy of this name is taken away."""
        kept = tuple(found for found in self.policies if found["metadata"]["name"] != policy)
        return Network(kept, self.namespaces)

    def lets(self, source: Endpoint, target: Endpoint, port: Port) -> bool:
        """Whether both ends allow it. No policy parts a pod from itself."""
        return source == target or (
            self._allows("Egress", source, target, target, port)
            and self._allows("Ingress", target, source, target, port)
        )

    def _allows(self, direction: str, own: Endpoint, peer: Endpoint, target: Endpoint, port: Port) -> bool:
        """What one end's policies say: while none selects it, all is allowed; else what any allows."""
        if not own.namespace:
            return True
        concerned = [
            policy
            for policy in self.policies
            if policy["metadata"]["namespace"] == own.namespace
            and direction in _policy_types(policy["spec"])
            and selects(policy["spec"].get("podSelector"), own.labels)
        ]
        peers = "from" if direction == "Ingress" else "to"
        return not concerned or any(
            self._is_peer(rule.get(peers), peer, own.namespace)
            and _is_port(rule.get("ports"), port, target.named_ports)
            for policy in concerned
            for rule in policy["spec"].get(direction.lower()) or []
        )

    def _is_peer(self, peers: list[Manifest] | None, other: Endpoint, home: str) -> bool:
        return not peers or any(self._matches(peer, other, home) for peer in peers)

    def _matches(self, peer: Manifest, other: Endpoint, home: str) -> bool:
        if "ipBlock" in peer:
            return _is_in_block(peer["ipBlock"], other.address)
        if not other.namespace:
            return False
        if "namespaceSelector" in peer:
            is_near = selects(peer["namespaceSelector"], self.namespaces[other.namespace])
        else:
            is_near = other.namespace == home
        return is_near and selects(peer.get("podSelector"), other.labels)


def selects(selector: Manifest | None, labels: Labels) -> bool:
    """A selector that says nothing selects everything."""
    selector = selector or {}
    return all(
        labels.get(key) == value for key, value in (selector.get("matchLabels") or {}).items()
    ) and all(
        _OPERATORS[wanted["operator"]](labels.get(wanted["key"]), wanted.get("values") or [])
        for wanted in selector.get("matchExpressions") or []
    )


_OPERATORS: Mapping[str, Callable[[str | None, list[str]], bool]] = {
    "In": lambda value, values: value in values,
    "NotIn": lambda value, values: value not in values,
    "Exists": lambda value, _: value is not None,
    "DoesNotExist": lambda value, _: value is None,
}


def _policy_types(spec: Manifest) -> list[str]:
    """Every policy that does not say is about ingress, and about egress where it has rules for it."""
    default = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    return spec.get("policyTypes") or default


def _is_in_block(block: Manifest, address: str) -> bool:
    if not address:
        return False
    one = ip_address(address)
    return one in block_net(block["cidr"]) and not any(
        one in block_net(cut) for cut in block.get("except") or []
    )


def block_net(cidr: str) -> Net:
    """As the API server reads it: any address of the network names it, and leading zeros mean nothing."""
    return ip_network(_LEADING_ZEROS.sub(r"\1", cidr), strict=False)


def _is_port(ports: list[Manifest] | None, port: Port, named: Mapping[tuple[str, str], int]) -> bool:
    return not ports or any(_is_one_of(given, port, named) for given in ports)


def _is_one_of(given: Manifest, port: Port, named: Mapping[tuple[str, str], int]) -> bool:
    protocol = given.get("protocol", "TCP")
    if protocol != port.protocol:
        return False
    first = given.get("port")
    if first is None:
        return True
    if isinstance(first, str):
        return named.get((protocol, first)) == port.number
    return bool(first <= port.number <= (given.get("endPort") or first))
