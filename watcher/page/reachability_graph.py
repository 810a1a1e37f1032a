"""A graph of the connections that the NetworkPolicies in a tenant's namespaces allow. No I/O.

A node is a namespace, a group of pods, or a block of IP addresses. Each node has example pods or example
addresses, and `tenancy.reachability` tests the connections between these examples. The graph ignores policies
in other namespaces. In the cluster, such policies can block a connection that the graph shows.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Final, Literal, NamedTuple

from tenancy.base.labels import SHARED_LABEL, TENANT_LABEL, object_labels
from tenancy.base.manifest import Manifest
from tenancy.base.model import Model
from tenancy.base.platform_names import SHARED_NAMESPACE
from tenancy.objects.network_policies import CLUSTER_DNS
from tenancy.reachability import Endpoint, Labels, PodNetwork, selects
from watcher.page.address_blocks import Block, address_blocks, outside_addresses
from watcher.page.compute_limit import ComputeLimit, LimitExceeded
from watcher.page.open_ports import open_ports, port_ranges

# The label in which the API server stores a namespace's name, and the namespace of the cluster DNS.
[(_NAMESPACE_NAME, _DNS_NAMESPACE)] = CLUSTER_DNS["namespaceSelector"]["matchLabels"].items()
_DNS_PODS: Final = CLUSTER_DNS["podSelector"]["matchLabels"]
# The value of the tenant label for all other tenants. It is not a valid name, so no tenant can have it.
_OTHERS: Final = "other tenants"
_TOO_MUCH: Final = "too many NetworkPolicies to draw: list them with kubectl get networkpolicies"


class ReachNode(Model):
    id: str
    label: str
    kind: Literal["own", "platform", "outside", "other"]


class ReachEdge(Model):
    """A connection that the policies allow. `ports` lists the open ports of the target, e.g. `53/UDP`."""

    source: str
    target: str
    ports: str


class Reachability(Model):
    nodes: tuple[ReachNode, ...]
    edges: tuple[ReachEdge, ...]
    # The reason why there is no graph. Empty if there is a graph.
    note: str = ""


class _Place(NamedTuple):
    """A node of the graph, and its example pods or example addresses (`endpoints`).

    `labels` are the labels of the namespace that contains the example pods. `labels` is empty if the
    endpoints are addresses.
    """

    node: ReachNode
    endpoints: tuple[Endpoint, ...]
    labels: Labels

    @property
    def namespace(self) -> str:
        return self.endpoints[0].namespace


def reachability(namespaces: Iterable[Manifest], policies: Iterable[Manifest]) -> Reachability:
    """The graph of the tenant that owns these namespaces. Ignores policies in other namespaces.

    If there are too many policies, the graph is empty, and `note` says why.
    """
    by_namespace: dict[str, list[Manifest]] = {namespace["metadata"]["name"]: [] for namespace in namespaces}
    own_policies = [policy for policy in policies if policy["metadata"]["namespace"] in by_namespace]
    for policy in own_policies:
        by_namespace[policy["metadata"]["namespace"]].append(policy)
    try:
        limit = ComputeLimit(own_policies)
        own, others = _places(namespaces, own_policies)
        return Reachability(
            nodes=tuple(place.node for place in (*own, *others)),
            edges=tuple(_edges(own, others, by_namespace, limit)),
        )
    except LimitExceeded:
        return Reachability(nodes=(), edges=(), note=_TOO_MUCH)


def _edges(
    own: list[_Place], others: list[_Place], policies: Mapping[str, list[Manifest]], limit: ComputeLimit
) -> Iterator[ReachEdge]:
    all_policies = [policy for in_namespace in policies.values() for policy in in_namespace]
    labels = {place.namespace: place.labels for place in (*own, *others)}
    ranges = port_ranges(all_policies)
    classes = _equivalence_classes(own, others, policies)
    ports_by_class: dict[tuple[str, str], str] = {}
    for own_place in own:
        for source, target in (*product([own_place], [*own, *others]), *product(others, [own_place])):
            if source is target:
                continue
            pair = classes[source.node.id], classes[target.node.id]
            if pair not in ports_by_class:
                pair_policies = (*policies.get(source.namespace, ()), *policies.get(target.namespace, ()))
                network = PodNetwork(pair_policies, labels)
                limit.spend(len(source.endpoints) * len(target.endpoints) * ranges.range_count, pair_policies)
                connections = product(source.endpoints, target.endpoints)
                ports_by_class[pair] = open_ports(network, connections, ranges)
            if ports := ports_by_class[pair]:
                yield ReachEdge(source=source.node.id, target=target.node.id, ports=ports)


def _equivalence_classes(
    own: list[_Place], others: list[_Place], policies: Mapping[str, list[Manifest]]
) -> dict[str, str]:
    """A key for each node ID. Two namespaces of the tenant have the same key if no policy distinguishes them.

    The caller computes the open ports only once for each pair of keys. This saves time, because a tenant may
    have a hundred namespaces, and most of these namespaces usually have the same policies.
    """
    all_policies = [policy for in_namespace in policies.values() for policy in in_namespace]
    selectors = [peer["namespaceSelector"] for peer in _peers(all_policies) if "namespaceSelector" in peer]
    distinct = {json.dumps(selector, sort_keys=True): selector for selector in selectors}
    classes = {place.node.id: place.node.id for place in others}
    for place in own:
        rules = sorted(json.dumps(policy["spec"], sort_keys=True) for policy in policies[place.namespace])
        is_selected = [selects(selector, place.labels) for selector in distinct.values()]
        classes[place.node.id] = json.dumps([rules, is_selected])
    return classes


def _places(namespaces: Iterable[Manifest], policies: list[Manifest]) -> tuple[list[_Place], list[_Place]]:
    """The nodes of the graph, in two lists: the tenant's namespaces, and all other nodes."""
    peers = list(_peers(policies))
    pods = _pod_labels(policies, peers)
    own = [_own_place(namespace, pods) for namespace in namespaces]
    shared = {_NAMESPACE_NAME: SHARED_NAMESPACE, SHARED_LABEL: "true"}
    others = [
        _place("dns", f"DNS ({_DNS_NAMESPACE})", "platform", {_NAMESPACE_NAME: _DNS_NAMESPACE}, [_DNS_PODS]),
        _place("shared", SHARED_NAMESPACE, "platform", shared, pods),
    ]
    for peer in peers:
        if "namespaceSelector" in peer and not any(_selects_place(peer, place) for place in (*own, *others)):
            others.append(_peer_place(peer))
    blocks = address_blocks(peers)
    others += [_block_place(block) for block in blocks]
    others.append(_place("others", _OTHERS, "other", object_labels(_OTHERS), pods))
    if other_addresses := outside_addresses(blocks):
        node = ReachNode(id="outside", label="anything else outside", kind="outside")
        others.append(_Place(node, tuple(Endpoint(address) for address in other_addresses), {}))
    return own, others


def _peers(policies: Iterable[Manifest]) -> Iterator[Manifest]:
    for policy in policies:
        for direction, peers in (("ingress", "from"), ("egress", "to")):
            for rule in policy["spec"].get(direction) or ():
                yield from rule.get(peers) or ()


def _pod_labels(policies: Iterable[Manifest], peers: Iterable[Manifest]) -> list[Labels]:
    """The labels of the example pods: one pod without labels, and one pod for each distinct `podSelector`."""
    selectors = [
        *(policy["spec"].get("podSelector") for policy in policies),
        *(peer.get("podSelector") for peer in peers),
    ]
    pods: list[Labels] = [{}]
    for selector in selectors:
        labels = _example_labels(selector)
        if labels not in pods and labels != _DNS_PODS:
            pods.append(labels)
    return pods


def _example_labels(selector: Manifest | None) -> Labels:
    """Example labels that match the label selector. Empty if the selector is None."""
    selector = selector or {}
    labels = dict(selector.get("matchLabels") or {})
    for expression in selector.get("matchExpressions") or ():
        if expression["operator"] in ("In", "Exists"):
            labels[expression["key"]] = next(iter(expression.get("values") or ()), "")
    return labels


def _selects_place(peer: Manifest, place: _Place) -> bool:
    return selects(peer["namespaceSelector"], place.labels) and any(
        selects(peer.get("podSelector"), endpoint.labels) for endpoint in place.endpoints
    )


def _own_place(namespace: Manifest, pods: list[Labels]) -> _Place:
    name = namespace["metadata"]["name"]
    endpoints = tuple(Endpoint("", name, labels) for labels in pods)
    node = ReachNode(id=f"own:{name}", label=name, kind="own")
    return _Place(node, endpoints, namespace["metadata"].get("labels") or {})


def _place(
    key: str,
    label: str,
    kind: Literal["platform", "other"],
    labels: Labels,
    pods: Iterable[Labels],
) -> _Place:
    """A node outside the tenant, with one example pod for each entry of `pods`.

    The example pods are in a namespace with a name such as `<dns>`. No real namespace can have such a name.
    """
    endpoints = tuple(Endpoint("", f"<{key}>", pod) for pod in pods)
    return _Place(ReachNode(id=key, label=label, kind=kind), endpoints, labels)


def _peer_place(peer: Manifest) -> _Place:
    labels, pod = _example_labels(peer["namespaceSelector"]), _example_labels(peer.get("podSelector"))
    name = labels.get(_NAMESPACE_NAME) or f"namespaces with {_labels_text(labels)}"
    label = f"{name}, pods with {_labels_text(pod)}" if pod else name
    return _place(f"peer:{label}", label, "other" if TENANT_LABEL in labels else "platform", labels, [pod])


def _labels_text(labels: Labels) -> str:
    return ", ".join(f"{key}={value}" for key, value in labels.items())


def _block_place(block: Block) -> _Place:
    node = ReachNode(id=f"block:{block.label}", label=block.label, kind="outside")
    return _Place(node, (Endpoint(block.address),), {})
