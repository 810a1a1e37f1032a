"""Finds the ports to which NetworkPolicies allow connections. No I/O.

The result is a text: `all`, or a list such as `53/UDP, 8080-8085/TCP`.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from tenancy.base.manifest import Manifest
from tenancy.reachability import Endpoint, PodNetwork, Port

_PROTOCOLS: Final = ("UDP", "TCP", "SCTP")
_FIRST: Final = 1
_LAST: Final = 65535


class PortRanges(NamedTuple):
    """All ports, divided into ranges. The NetworkPolicies treat all ports of a range in the same way.

    So it is enough to test one port of each range.
    """

    # The first and the last port of each range, by protocol.
    ranges: dict[str, list[tuple[int, int]]]
    # The named ports in the policies, by protocol and name. Each name gets a made-up number above 65535.
    named: dict[tuple[str, str], int]

    @property
    def range_count(self) -> int:
        return sum(map(len, self.ranges.values())) + len(self.named)


def port_ranges(policies: Iterable[Manifest]) -> PortRanges:
    starts: dict[str, set[int]] = {protocol: {_FIRST} for protocol in _PROTOCOLS}
    named: dict[tuple[str, str], int] = {}
    for port in _ports(policies):
        protocol, first = port.get("protocol", "TCP"), port.get("port")
        if isinstance(first, str):
            named.setdefault((protocol, first), _LAST + 1 + len(named))
        elif first is not None:
            starts[protocol] |= {first, (port.get("endPort") or first) + 1}
    ranges = {
        protocol: [
            (start, after - 1)
            for start, after in zip(sorted(firsts), [*sorted(firsts)[1:], _LAST + 1], strict=True)
            if start < after
        ]
        for protocol, firsts in starts.items()
    }
    return PortRanges(ranges, named)


def open_ports(network: PodNetwork, pairs: Iterable[tuple[Endpoint, Endpoint]], ports: PortRanges) -> str:
    """The open ports as text, e.g. `53/UDP, 8080-8085/TCP`. Empty if no port is open.

    Each pair consists of a source and a target. A port is open if, for at least one pair, the NetworkPolicies
    allow connections from the source to this port of the target.
    """
    connections = [(source, replace(target, named_ports=ports.named)) for source, target in pairs]

    def is_open(number: int, protocol: str) -> bool:
        return any(network.allows(source, target, Port(number, protocol)) for source, target in connections)

    texts: list[str] = []
    for protocol, ranges in ports.ranges.items():
        merged = _merged([(first, last) for first, last in ranges if is_open(first, protocol)])
        if merged == [(_FIRST, _LAST)]:
            texts.append(f"all {protocol}")
            continue
        texts += [
            f"{first}/{protocol}" if first == last else f"{first}-{last}/{protocol}" for first, last in merged
        ]
        texts += [
            f"{name}/{protocol}"
            for (named_protocol, name), number in ports.named.items()
            if named_protocol == protocol and is_open(number, protocol)
        ]
    return "all" if texts == [f"all {protocol}" for protocol in _PROTOCOLS] else ", ".join(texts)


def _ports(policies: Iterable[Manifest]) -> Iterable[Manifest]:
    for policy in policies:
        for direction in ("ingress", "egress"):
            for rule in policy["spec"].get(direction) or ():
                yield from rule.get("ports") or ()


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for first, last in ranges:
        if merged and merged[-1][1] + 1 == first:
            merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    return merged
