"""CoreDNS isolation: by this Corefile a pod resolves its own tenant's names and the shared ones, no others.

The watcher keeps it in a ConfigMap, `coredns_config_map`, for CoreDNS to mount. It hides names and stops no
traffic: that is what NetworkPolicies are for.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tenancy.base.manifest import Manifest
from tenancy.base.names import namespace_name
from tenancy.base.platform_names import SHARED_NAMESPACE

# A pod mounts nothing from other namespaces than its own, so it has to be where CoreDNS runs.
COREDNS_NAMESPACE: Final = "kube-system"
COREDNS_CONFIG_MAP: Final = "tenancy-coredns"
COREFILE_KEY: Final = "Corefile"
# Whose names all may know. Names outside of any namespace, such as the domain's own, have the empty one.
_SHARED_NAMESPACES: Final = ("", "default", "kube-system", SHARED_NAMESPACE)

# What the names of all namespaces begin with that the product makes; adopted ones have any name.
_PREFIX: Final = namespace_name("")

_MOUNT: Final = (
    '{"spec": {"template": {"spec": {"volumes": [{"name": "config-volume", '
    f'"configMap": {{"name": "{COREDNS_CONFIG_MAP}"}}}}]}}}}}}}}'
)
_HEAD: Final = f"""\
# Kept by the tenancy watcher: changes made here are undone.
#
# It is in force once CoreDNS mounts this ConfigMap in place of its own:
#   kubectl -n {COREDNS_NAMESPACE} patch deployment coredns -p '{_MOUNT}'
# What your own Corefile has beyond the usual, such as stub domains, is not in here.
#
# Pods are told apart by the address that they ask from. Do not use it where that is lost on the way:
# with NodeLocal DNSCache, or where traffic to CoreDNS goes through source NAT (kube-proxy --masquerade-all).
"""


@dataclass(frozen=True)
class Surroundings:
    """Where CoreDNS runs; by default in a pod of the cluster that it serves."""

    domain: str = "cluster.local"
    # The one that it listens at; empty: all.
    address: str = ""
    port: int = 53
    health_port: int = 8080
    ready_port: int = 8181
    metrics_port: int = 9153
    upstream: str = "/etc/resolv.conf"
    kubeconfig: Path | None = None


def corefile(families: Iterable[Collection[str]], around: Surroundings | None = None) -> str:
    """`families`: per tenant, the namespaces that see each other."""
    around = around or Surroundings()
    listed = _listed(families)
    domain, port = around.domain, around.port
    kubeconfig = f"\n        kubeconfig {around.kubeconfig}" if around.kubeconfig else ""
    common = f"errors\n    prometheus {around.address}:{around.metrics_port}"
    if around.address:
        common += f"\n    bind {around.address}"
    forward = f"forward . {around.upstream} {{\n        max_concurrent 1000\n    }}"
    # The block with `kubernetes` comes first: it finds out what the views of the others read. No two views
    # fit the same query, because the one query type that parents answer, DS, goes to the last that fits.
    return f"""{_HEAD}
{domain}:{port} in-addr.arpa:{port} ip6.arpa:{port} {{
    {common}
    health {around.address}:{around.health_port} {{
        lameduck 5s
    }}
    ready {around.address}:{around.ready_port}
    reload
    metadata
{_view("allowed", "is_allowed", listed)}
    kubernetes {domain} in-addr.arpa ip6.arpa {{{kubeconfig}
        pods verified
        ttl 30
        fallthrough in-addr.arpa ip6.arpa
    }}
    cache 30 in-addr.arpa ip6.arpa
    loadbalance
    {forward}
}}

# Names of others do not exist.
{domain}:{port} {{
    {common}
{_view("denied", "client != '' && not is_allowed", listed)}
    template ANY ANY {{
        rcode NXDOMAIN
        authority "{domain}. 5 IN SOA ns.dns.{domain}. hostmaster.{domain}. 1 7200 1800 86400 5"
    }}
}}

# A pod that is too new to be known is refused for now, so that it asks again.
{domain}:{port} {{
    {common}
{_view("unknown", "client == '' && not is_allowed", listed)}
    acl {{
        block
    }}
}}

.:{port} {{
    {common}
    cache 30
    loop
    loadbalance
    {forward}
}}
"""


def coredns_config_map(families: Iterable[Collection[str]]) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": COREDNS_CONFIG_MAP, "namespace": COREDNS_NAMESPACE},
        "data": {COREFILE_KEY: corefile(families)},
    }


def _listed(families: Iterable[Collection[str]]) -> list[str]:
    """The families that the rules can't do without: those of several namespaces, for a prefix does not tell
    tenant-a's from tenant-a-b's; and adopted namespaces, which would pass for the platform's."""
    return sorted(
        f"/{'/'.join(sorted(family))}/"
        for family in families
        if len(family) > 1 or not all(name.startswith(_PREFIX) for name in family)
    )


def _view(name: str, condition: str, listed: list[str]) -> str:
    # One text of all families, taken apart for each query: an expression has a limit of 10,000 parts.
    families = "\n".join(listed)
    shared = ", ".join(f"'{namespace}'" for namespace in _SHARED_NAMESPACES)
    return f"""\
    view {name} {{
        expr "
            let client = metadata('kubernetes/client-namespace');
            let target = metadata('kubernetes/namespace');
            let families = `
{families}
`;
            let is_tenant = client startsWith '{_PREFIX}' || families contains ('/' + client + '/');
            let is_platform = client != '' && not is_tenant;
            let is_shared = target in [{shared}] && not (name() endsWith '.arpa.');
            let is_own = client != '' && client == target;
            let is_allowed = is_platform || is_shared || is_own || any(
                split(families, '\\n'),
                # contains ('/' + client + '/') && # contains ('/' + target + '/')
            );
            {condition}
        "
    }}"""
