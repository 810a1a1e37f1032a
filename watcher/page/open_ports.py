"""Which ports get through, in words: `all`, or such as `53/UDP, 8080-8085/TCP`.

Pure; used by `reachability_graph`.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from tenancy.base.manifest import Manifest
from tenancy.reachability import Endpoint, Network, Port

_PROTOCOLS: Final = ("UDP", "TCP", "SCTP")
_FIRST: Final = 1
_LAST: Final = 65535


class Spans(NamedTuple):
    """The ports that policies tell apart: by protocol, ranges of which all or none get through."""

    ranges: dict[str, list[tuple[int, int]]]
    # Ports that policies know by a name, each under a number that no port has.
    named: dict[tuple[str, str], int]

    @property
    def number(self) -> int:
        return sum(map(len, self.ranges.values())) + len(self.named)


def spans_in(policies: Iterable[Manifest]) -> Spans:
    starts: dict[str, set[int]] = {protocol: {_FIRST} for protocol in _PROTOCOLS}
    named: dict[tuple[str, str], int] = {}
    for given in _ports(policies):
        protocol, first = given.get("protocol", "TCP"), given.get("port")
        if isinstance(first, str):
            named.setdefault((protocol, first), _LAST + 1 + len(named))
        elif first is not None:
            starts[protocol] |= {first, (given.get("endPort") or first) + 1}
    ranges = {
        protocol: [
            (start, after - 1)
            for start, after in zip(sorted(found), [*sorted(found)[1:], _LAST + 1], strict=True)
            if start < after
        ]
        for protocol, found in starts.items()
    }
    return Spans(ranges, named)


def open_ports(network: Network, pairs: Iterable[tuple[Endpoint, Endpoint]], spans: Spans) -> str:
    """What gets through from a source to a target of any of the pairs. Empty: nothing does."""
    ends = [(source, replace(target, named_ports=spans.named)) for source, target in pairs]

    def is_open(number: int, protocol: str) -> bool:
        return any(network.lets(source, target, Port(number, protocol)) for source, target in ends)

    told: list[str] = []
    for protocol, ranges in spans.ranges.items():
        merged = _merged([(first, last) for first, last in ranges if is_open(first, protocol)])
        if merged == [(_FIRST, _LAST)]:
            told.append(f"all {protocol}")
            continue
        told += [
            f"{first}/{protocol}" if first == last else f"{first}-{last}/{protocol}" for first, last in merged
        ]
        told += [
            f"{name}/{protocol}"
            for (of, name), number in spans.named.items()
            if of == protocol and is_open(number, protocol)
        ]
    return "all" if told == [f"all {protocol}" for protocol in _PROTOCOLS] else ", ".join(told)


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
