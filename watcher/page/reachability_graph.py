"""Who can reach whom, as a graph for the page: worked out from the policies in a tenant's namespaces. Pure.

Each place is stood for by a few pods, or an address, and each connection is put to `tenancy.reachability`.
What the other end's own policies say is not known here: an edge means that this tenant's policies allow it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Final, Literal, NamedTuple

from tenancy.base.manifest import Manifest
from tenancy.base.model import Model
from tenancy.base.names import SHARED_LABEL, TENANT_LABEL, object_labels
from tenancy.base.platform_names import SHARED_NAMESPACE
from tenancy.objects.network_policies import CLUSTER_DNS
from tenancy.reachability import Endpoint, Labels, Network, selects
from watcher.page.address_blocks import Block, blocks_in, outside_addresses
from watcher.page.compute_limit import Effort, TooMuch
from watcher.page.open_ports import open_ports, spans_in

# The label by which the API server names every namespace, and the name of the one that has the DNS.
[(_NAMESPACE_NAME, _DNS_NAMESPACE)] = CLUSTER_DNS["namespaceSelector"]["matchLabels"].items()
_DNS_PODS: Final = CLUSTER_DNS["podSelector"]["matchLabels"]
# No tenant can have this name.
_OTHERS: Final = "other tenants"
_TOO_MUCH: Final = "there are too many NetworkPolicies here to draw: kubectl get networkpolicies has them"


class ReachNode(Model):
    id: str
    label: str
    kind: Literal["own", "platform", "outside", "other"]


class ReachEdge(Model):
    """That something gets through from source to target, and to which ports there."""

    source: str
    target: str
    ports: str


class Reachability(Model):
    nodes: tuple[ReachNode, ...]
    edges: tuple[ReachEdge, ...]
    # Why there is no graph, where there is none.
    note: str = ""


class _Place(NamedTuple):
    node: ReachNode
    # Who stands for it, and the labels of the namespace they are in.
    ends: tuple[Endpoint, ...]
    labels: Labels

    @property
    def namespace(self) -> str:
        return self.ends[0].namespace


def reachability(namespaces: Iterable[Manifest], policies: Iterable[Manifest]) -> Reachability:
    """The graph of a tenant with these namespaces, and these policies in them."""
    by_namespace: dict[str, list[Manifest]] = {found["metadata"]["name"]: [] for found in namespaces}
    known = [found for found in policies if found["metadata"]["namespace"] in by_namespace]
    for policy in known:
        by_namespace[policy["metadata"]["namespace"]].append(policy)
    try:
        effort = Effort(known)
        own, others = _places(namespaces, known)
        return Reachability(
            nodes=tuple(place.node for place in (*own, *others)),
            edges=tuple(_edges(own, others, by_namespace, effort)),
        )
    except TooMuch:
        return Reachability(nodes=(), edges=(), note=_TOO_MUCH)


def _edges(
    own: list[_Place], others: list[_Place], policies: Mapping[str, list[Manifest]], effort: Effort
) -> Iterator[ReachEdge]:
    known = [policy for found in policies.values() for policy in found]
    labels = {place.namespace: place.labels for place in (*own, *others)}
    spans = spans_in(known)
    sorts = _sorts(own, others, policies)
    verdicts: dict[tuple[str, str], str] = {}
    for one in own:
        for source, target in (*product([one], [*own, *others]), *product(others, [one])):
            if source is target:
                continue
            pair = sorts[source.node.id], sorts[target.node.id]
            if pair not in verdicts:
                concerned = (*policies.get(source.namespace, ()), *policies.get(target.namespace, ()))
                network = Network(concerned, labels)
                effort.spend(len(source.ends) * len(target.ends) * spans.number, concerned)
                verdicts[pair] = open_ports(network, product(source.ends, target.ends), spans)
            if ports := verdicts[pair]:
                yield ReachEdge(source=source.node.id, target=target.node.id, ports=ports)


def _sorts(own: list[_Place], others: list[_Place], policies: Mapping[str, list[Manifest]]) -> dict[str, str]:
    """A word for each place, the same for those of the tenant's own that no policy tells apart: a tenant may
    have a hundred namespaces, and most are alike."""
    known = [policy for found in policies.values() for policy in found]
    selectors = [peer["namespaceSelector"] for peer in _peers(known) if "namespaceSelector" in peer]
    distinct = {json.dumps(selector, sort_keys=True): selector for selector in selectors}
    sorts = {place.node.id: place.node.id for place in others}
    for place in own:
        rules = sorted(json.dumps(policy["spec"], sort_keys=True) for policy in policies[place.namespace])
        chosen = [selects(selector, place.labels) for selector in distinct.values()]
        sorts[place.node.id] = json.dumps([rules, chosen])
    return sorts


def _places(namespaces: Iterable[Manifest], policies: list[Manifest]) -> tuple[list[_Place], list[_Place]]:
    """The tenant's own, and all the others."""
    peers = list(_peers(policies))
    pods = _pod_labels(policies, peers)
    own = [_own_place(found, pods) for found in namespaces]
    shared = {_NAMESPACE_NAME: SHARED_NAMESPACE, SHARED_LABEL: "true"}
    others = [
        _place("dns", f"DNS ({_DNS_NAMESPACE})", "platform", {_NAMESPACE_NAME: _DNS_NAMESPACE}, [_DNS_PODS]),
        _place("shared", SHARED_NAMESPACE, "platform", shared, pods),
    ]
    for peer in peers:
        if "namespaceSelector" in peer and not any(_is_at(peer, place) for place in (*own, *others)):
            others.append(_peer_place(peer))
    blocks = blocks_in(peers)
    others += [_block_place(block) for block in blocks]
    others.append(_place("others", _OTHERS, "other", object_labels(_OTHERS), pods))
    if rest := outside_addresses(blocks):
        node = ReachNode(id="outside", label="anything else outside", kind="outside")
        others.append(_Place(node, tuple(Endpoint(address) for address in rest), {}))
    return own, others


def _peers(policies: Iterable[Manifest]) -> Iterator[Manifest]:
    for policy in policies:
        for direction, peers in (("ingress", "from"), ("egress", "to")):
            for rule in policy["spec"].get(direction) or ():
                yield from rule.get(peers) or ()


def _pod_labels(policies: Iterable[Manifest], peers: Iterable[Manifest]) -> list[Labels]:
    """A pod of no note, and one for every kind of pod that the policies tell apart."""
    selectors = [
        *(policy["spec"].get("podSelector") for policy in policies),
        *(peer.get("podSelector") for peer in peers),
    ]
    found: list[Labels] = [{}]
    for selector in selectors:
        labels = _example(selector)
        if labels not in found and labels != _DNS_PODS:
            found.append(labels)
    return found


def _example(selector: Manifest | None) -> Labels:
    """Labels that the selector selects."""
    selector = selector or {}
    labels = dict(selector.get("matchLabels") or {})
    for wanted in selector.get("matchExpressions") or ():
        if wanted["operator"] in ("In", "Exists"):
            labels[wanted["key"]] = next(iter(wanted.get("values") or ()), "")
    return labels


def _is_at(peer: Manifest, place: _Place) -> bool:
    return selects(peer["namespaceSelector"], place.labels) and any(
        selects(peer.get("podSelector"), end.labels) for end in place.ends
    )


def _own_place(namespace: Manifest, pods: list[Labels]) -> _Place:
    name = namespace["metadata"]["name"]
    ends = tuple(Endpoint("", name, labels) for labels in pods)
    node = ReachNode(id=f"own:{name}", label=name, kind="own")
    return _Place(node, ends, namespace["metadata"].get("labels") or {})


def _place(
    key: str,
    label: str,
    kind: Literal["platform", "other"],
    labels: Labels,
    pods: Iterable[Labels],
) -> _Place:
    """Namespaces of somebody else's, under one that need not be there: its name is no legal one."""
    ends = tuple(Endpoint("", f"<{key}>", pod) for pod in pods)
    return _Place(ReachNode(id=key, label=label, kind=kind), ends, labels)


def _peer_place(peer: Manifest) -> _Place:
    labels, pod = _example(peer["namespaceSelector"]), _example(peer.get("podSelector"))
    name = labels.get(_NAMESPACE_NAME) or f"namespaces with {_told(labels)}"
    label = f"{name}, pods with {_told(pod)}" if pod else name
    return _place(f"peer:{label}", label, "other" if TENANT_LABEL in labels else "platform", labels, [pod])


def _told(labels: Labels) -> str:
    return ", ".join(f"{key}={value}" for key, value in labels.items())


def _block_place(block: Block) -> _Place:
    node = ReachNode(id=f"block:{block.label}", label=block.label, kind="outside")
    return _Place(node, (Endpoint(block.address),), {})
