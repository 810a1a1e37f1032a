"""Finds the traffic that network policies allow in a tenant's new state, but not in its old state. No I/O.

Rules are split into single peers and ports before the comparison. So a rule that is only moved to another
policy or split in two does not count as new traffic.
"""

import json
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

from cli.preview.findings.finding import Gain
from tenancy.base.kinds import NETWORK_POLICY
from tenancy.base.manifest import ObjectKey, Objects
from tenancy.reachability import network_from_cidr


class AllowedTraffic(NamedTuple):
    """Traffic that a NetworkPolicy allows, from or to one peer on one port.

    `direction` is `ingress` or `egress`. `pods` is the policy's pod selector. `pods`, `peer` and `port` are
    JSON texts. If all peers are allowed, `peer` is None. If all ports are allowed, `port` is None.
    """

    direction: str
    pods: str
    peer: str | None
    port: str | None


def gained_reach(before: Objects, after: Objects) -> Iterator[Gain]:
    """Yield a gain for each peer and port that a new rule allows, and that no old rule allowed.

    Namespaces that had no network policies are ignored. Such a namespace is new, or all its traffic was
    already allowed.
    """
    old_traffic = _allowed_traffic(before)
    for namespace, traffic_keys in _allowed_traffic(after).items():
        if namespace not in old_traffic:
            continue
        for traffic, key in traffic_keys.items():
            if not any(_covers(old, traffic) for old in old_traffic[namespace]):
                yield Gain(_traffic_text(traffic), key)


def _allowed_traffic(objects: Objects) -> dict[str, dict[AllowedTraffic, ObjectKey]]:
    """The allowed traffic in each namespace, with the key of the NetworkPolicy that allows it."""
    by_namespace: dict[str, dict[AllowedTraffic, ObjectKey]] = {}
    for key, policy in objects.items():
        if key.kind != NETWORK_POLICY.kind:
            continue
        traffic = by_namespace.setdefault(key.namespace, {})
        spec = policy["spec"]
        pods = json.dumps(spec.get("podSelector") or {}, sort_keys=True)
        for direction, peers_field in (("ingress", "from"), ("egress", "to")):
            for rule in spec.get(direction) or ():
                for peer, port in product(rule.get(peers_field) or [None], rule.get("ports") or [None]):
                    traffic[AllowedTraffic(direction, pods, _as_json(peer), _as_json(port))] = key
    return by_namespace


def _as_json(value: Any) -> str | None:
    """The value as JSON text, because a dict cannot be part of a dict key. None if the value is None."""
    return None if value is None else json.dumps(value, sort_keys=True)


def _covers(old: AllowedTraffic, new: AllowedTraffic) -> bool:
    has_same_pods = old.direction == new.direction and old.pods in (new.pods, "{}")
    return has_same_pods and _covers_peer(old.peer, new.peer) and _covers_port(old.port, new.port)


def _covers_peer(old: str | None, new: str | None) -> bool:
    if old is None or old == new:
        return True
    blocks = [json.loads(peer or "{}").get("ipBlock") for peer in (old, new)]
    if None in blocks:
        return False
    old_block, new_block = blocks
    return _is_inside(new_block["cidr"], old_block["cidr"]) and all(
        not _overlap(exception, new_block["cidr"])
        or any(_is_inside(exception, new_exception) for new_exception in new_block.get("except") or ())
        for exception in old_block.get("except") or ()
    )


def _is_inside(inner_cidr: str, outer_cidr: str) -> bool:
    inner, outer = network_from_cidr(inner_cidr), network_from_cidr(outer_cidr)
    return inner.version == outer.version and inner.subnet_of(outer)  # type: ignore[arg-type]


def _overlap(cidr: str, other_cidr: str) -> bool:
    return _is_inside(cidr, other_cidr) or _is_inside(other_cidr, cidr)


def _covers_port(old: str | None, new: str | None) -> bool:
    if old is None or old == new:
        return True
    if new is None:
        return False
    (old_protocol, old_first, old_last), (new_protocol, new_first, new_last) = (
        _port_range(json.loads(port)) for port in (old, new)
    )
    return old_protocol == new_protocol and (
        old_first is None or (new_first is not None and old_first <= new_first and new_last <= old_last)
    )


def _port_range(port: Mapping[str, Any]) -> tuple[str, Any, Any]:
    """The protocol, the first port and the last port.

    For a named port, the function appends the name to the protocol, such as `TCPhttp`, and both ports are
    None. So a rule for a named port covers only ports with the same name.
    """
    number = port.get("port")
    first = number if isinstance(number, int) or number is None else None
    protocol = f"{port.get('protocol', 'TCP')}{number if isinstance(number, str) else ''}"
    return protocol, first, port.get("endPort", first)


def _traffic_text(traffic: AllowedTraffic) -> str:
    peer = json.loads(traffic.peer) if traffic.peer else {}
    port = json.loads(traffic.port) if traffic.port else None
    if block := peer.get("ipBlock"):
        exceptions = f" except {', '.join(block['except'])}" if block.get("except") else ""
        peer_text = f"{block['cidr']}{exceptions}"
    elif peer:
        peer_text = ", ".join(f"{name} {_selector_text(selector)}" for name, selector in sorted(peer.items()))
    else:
        peer_text = "everything"
    last = f"-{port['endPort']}" if port and "endPort" in port else ""
    port_text = f" on {port.get('protocol', 'TCP')} {port.get('port', 'any port')}{last}" if port else ""
    verb = "accept traffic from" if traffic.direction == "ingress" else "may reach"
    return f"pods {verb} {peer_text}{port_text}"


def _selector_text(selector: Mapping[str, Any]) -> str:
    labels = selector.get("matchLabels") or {}
    if selector.get("matchExpressions"):
        return json.dumps(selector, sort_keys=True)
    return ",".join(f"{name}={value}" for name, value in sorted(labels.items())) or "any"
