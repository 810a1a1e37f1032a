"""What pods may be reached by, or may reach, that they could not before: the network rules in two states of
a tenant compared. Pure.

Part of `warnings`. Rules are looked at peer by peer, so that moving or splitting them is no change.
"""

import json
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

from cli.preview.findings.finding import Gain, Objects
from tenancy.base.kinds import NETWORK_POLICY
from tenancy.base.manifest import ObjectKey
from tenancy.reachability import network_from_cidr


class Opening(NamedTuple):
    """One peer that pods may talk with, on one port, each as JSON; None: any."""

    direction: str
    pods: str
    peer: str | None
    port: str | None


def gained_reach(before: Objects, after: Objects) -> Iterator[Gain]:
    """Peers that no rule let through before. A namespace that is new had no walls to widen."""
    old = _openings(before)
    for home, openings in _openings(after).items():
        if home not in old:
            continue
        for opening, key in openings.items():
            if not any(_covers(one, opening) for one in old[home]):
                yield Gain(_told_opening(opening), key)


def _openings(objects: Objects) -> dict[str, dict[Opening, ObjectKey]]:
    found: dict[str, dict[Opening, ObjectKey]] = {}
    for key, policy in objects.items():
        if key.kind != NETWORK_POLICY.kind:
            continue
        here = found.setdefault(key.namespace, {})
        spec = policy["spec"]
        pods = json.dumps(spec.get("podSelector") or {}, sort_keys=True)
        for direction, end in (("ingress", "from"), ("egress", "to")):
            for rule in spec.get(direction) or ():
                for peer, port in product(rule.get(end) or [None], rule.get("ports") or [None]):
                    here[Opening(direction, pods, _frozen(peer), _frozen(port))] = key
    return found


def _frozen(value: Any) -> str | None:
    return None if value is None else json.dumps(value, sort_keys=True)


def _covers(old: Opening, new: Opening) -> bool:
    is_same_end = old.direction == new.direction and old.pods in (new.pods, "{}")
    return is_same_end and _covers_peer(old.peer, new.peer) and _covers_port(old.port, new.port)


def _covers_peer(old: str | None, new: str | None) -> bool:
    if old is None or old == new:
        return True
    blocks = [json.loads(peer or "{}").get("ipBlock") for peer in (old, new)]
    if None in blocks:
        return False
    mine, theirs = blocks
    return _is_inside(theirs["cidr"], mine["cidr"]) and all(
        not _overlap(hole, theirs["cidr"])
        or any(_is_inside(hole, other) for other in theirs.get("except") or ())
        for hole in mine.get("except") or ()
    )


def _is_inside(part: str, whole: str) -> bool:
    inner, outer = network_from_cidr(part), network_from_cidr(whole)
    return inner.version == outer.version and inner.subnet_of(outer)  # type: ignore[arg-type]


def _overlap(one: str, other: str) -> bool:
    return _is_inside(one, other) or _is_inside(other, one)


def _covers_port(old: str | None, new: str | None) -> bool:
    if old is None or old == new:
        return True
    if new is None:
        return False
    (mine, first, last), (theirs, start, end) = (_span(json.loads(port)) for port in (old, new))
    return mine == theirs and (first is None or (start is not None and first <= start and end <= last))


def _span(port: Mapping[str, Any]) -> tuple[str, Any, Any]:
    number = port.get("port")
    # A port by name is only like itself.
    first = number if isinstance(number, int) or number is None else None
    protocol = f"{port.get('protocol', 'TCP')}{number if isinstance(number, str) else ''}"
    return protocol, first, port.get("endPort", first)


def _told_opening(opening: Opening) -> str:
    peer = json.loads(opening.peer) if opening.peer else {}
    port = json.loads(opening.port) if opening.port else None
    if block := peer.get("ipBlock"):
        holes = f" except {', '.join(block['except'])}" if block.get("except") else ""
        who = f"{block['cidr']}{holes}"
    elif peer:
        who = ", ".join(f"{name} {_told_selector(selector)}" for name, selector in sorted(peer.items()))
    else:
        who = "everything"
    last = f"-{port['endPort']}" if port and "endPort" in port else ""
    on = f" on {port.get('protocol', 'TCP')} {port.get('port', 'any port')}{last}" if port else ""
    return f"pods {'are open to' if opening.direction == 'ingress' else 'may reach'} {who}{on}"


def _told_selector(selector: Mapping[str, Any]) -> str:
    labels = selector.get("matchLabels") or {}
    if selector.get("matchExpressions"):
        return json.dumps(selector, sort_keys=True)
    return ",".join(f"{name}={value}" for name, value in sorted(labels.items())) or "any"
