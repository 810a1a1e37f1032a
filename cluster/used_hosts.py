"""Finds the hosts that Ingresses, gateways and routes in a tenant's namespaces use."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from cluster.client import Cluster
from cluster.errors import ClusterError
from tenancy.base.kinds import HOST_KINDS, Kind
from tenancy.base.manifest import Manifest
from tenancy.objects.policy_annotations import hosts_overlap

_Spec = dict[str, Any]
_NOT_FOUND: Final = 404


def _ingress_hosts(spec: _Spec) -> list[str]:
    tls = [host for entry in spec.get("tls") or () for host in entry.get("hosts") or ()]
    return [*(rule.get("host", "") for rule in spec.get("rules") or ()), *tls]


def _gateway_hosts(spec: _Spec) -> list[str]:
    """The hosts of a Gateway or a ListenerSet of the Gateway API, or of a Gateway of Istio."""
    servers = [host for server in spec.get("servers") or () for host in server.get("hosts") or ()]
    return [*(listener.get("hostname", "") for listener in spec.get("listeners") or ()), *servers]


def _route_hosts(spec: _Spec) -> list[str]:
    """The hosts of a route of the Gateway API, or of a VirtualService."""
    return [*(spec.get("hostnames") or ()), *(spec.get("hosts") or ())]


_HOSTS: Final[tuple[Callable[[_Spec], list[str]], ...]] = (_ingress_hosts, _gateway_hosts, _route_hosts)


def named_hosts(manifest: Manifest) -> set[str]:
    """The hosts in the spec of an Ingress, a gateway or a route. The host `*` is omitted."""
    hosts = (host for read in _HOSTS for host in read(manifest.get("spec") or {}))
    # A Gateway of Istio can restrict a host to a namespace: `NAMESPACE/HOST`.
    return {host.rpartition("/")[2] for host in hosts} - {"", "*"}


def used_hosts(cluster: Cluster, hosts: Iterable[str], namespaces: Iterable[str]) -> tuple[str, ...]:
    """The hosts in `hosts` that at least one Ingress, gateway or route in the namespaces uses."""
    wanted = tuple(hosts)
    if not wanted:
        return ()
    named = {
        host
        for namespace in namespaces
        for kind in HOST_KINDS
        for manifest in _listed(cluster, kind, namespace)
        for host in named_hosts(manifest)
    }
    return tuple(host for host in wanted if any(hosts_overlap(host, other) for other in named))


def _listed(cluster: Cluster, kind: Kind, namespace: str) -> list[Manifest]:
    try:
        return cluster.list(kind, namespace=namespace)[0]
    except ClusterError as error:
        if error.status == _NOT_FOUND:
            return []  # The cluster does not serve the kind.
        raise
