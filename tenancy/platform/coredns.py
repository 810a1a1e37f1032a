"""Builds a Corefile (the configuration of CoreDNS) that hides the names of other tenants.

In the cluster domain, a tenant's pods can resolve only names of their own tenant and of shared namespaces.
The watcher writes the Corefile to a ConfigMap (`coredns_config_map`), and CoreDNS mounts this ConfigMap. The
Corefile hides names but does not block traffic. NetworkPolicies block traffic.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tenancy.base.manifest import Manifest
from tenancy.base.names import namespace_name
from tenancy.base.platform_names import COREDNS_CONFIG_MAP, COREDNS_NAMESPACE, SHARED_NAMESPACE

COREFILE_KEY: Final = "Corefile"
# Every pod may resolve names in these namespaces. The empty string means names outside all namespaces, such
# as the cluster domain itself.
_SHARED_NAMESPACES: Final = ("", "default", "kube-system", SHARED_NAMESPACE)

# The maximum size of the list of namespace groups, in bytes. A ConfigMap can contain 1 MiB, and the other
# parts of the Corefile need a few kB.
_MAX_LIST_SIZE: Final = 1_000_000

# The prefix of all namespaces that the platform creates. Adopted namespaces can have any name.
_PREFIX: Final = namespace_name("")

# An expression for the namespace of the pod that sends the query. Empty if CoreDNS does not know the pod.
_CLIENT: Final = "metadata('kubernetes/client-namespace')"

_MOUNT: Final = (
    '{"spec": {"template": {"spec": {"volumes": [{"name": "config-volume", '
    f'"configMap": {{"name": "{COREDNS_CONFIG_MAP}"}}}}]}}}}}}}}'
)
_HEAD: Final = f"""\
# The tenancy watcher writes this Corefile and reverts changes to it.
#
# To use this Corefile, mount its ConfigMap into CoreDNS instead of the default ConfigMap of CoreDNS:
#   kubectl -n {COREDNS_NAMESPACE} patch deployment coredns -p '{_MOUNT}'
# This Corefile does not include custom settings of your previous Corefile, such as stub domains.
#
# CoreDNS identifies a pod by the source address of its query. Do not use this Corefile with NodeLocal
# DNSCache or with source NAT of traffic to CoreDNS (kube-proxy --masquerade-all). They replace that address.
"""


@dataclass(frozen=True)
class CorednsSettings:
    """Addresses, ports and files of CoreDNS. The defaults are for CoreDNS in a pod of the cluster."""

    domain: str = "cluster.local"
    # The address that CoreDNS listens on. If it is empty, CoreDNS listens on all addresses.
    address: str = ""
    port: int = 53
    health_port: int = 8080
    ready_port: int = 8181
    metrics_port: int = 9153
    upstream: str = "/etc/resolv.conf"
    kubeconfig: Path | None = None


def corefile(namespace_groups: Iterable[Collection[str]], settings: CorednsSettings | None = None) -> str:
    """The text of the Corefile. Each item of `namespace_groups` is a group, usually a tenant's namespaces.

    A pod can resolve the names in all namespaces of its group. If the groups do not fit into a ConfigMap, the
    Corefile lists only some of them. `unlisted_groups` returns the number of groups that are not listed.
    """
    settings = settings or CorednsSettings()
    group_lines, _ = _group_lines(namespace_groups)
    domain, port = settings.domain, settings.port
    kubeconfig = f"\n        kubeconfig {settings.kubeconfig}" if settings.kubeconfig else ""
    common = f"errors\n    prometheus {settings.address}:{settings.metrics_port}"
    if settings.address:
        common += f"\n    bind {settings.address}"
    authority = f"{domain}. 5 IN SOA ns.dns.{domain}. hostmaster.{domain}. 1 7200 1800 86400 5"
    forward = f"forward . {settings.upstream} {{\n        max_concurrent 1000\n    }}"
    # The server block with `kubernetes` must come first, because it sets the metadata that the views of the
    # other blocks read. CoreDNS answers a query from the first block whose view matches. The exception is DS
    # queries, for which CoreDNS uses the last block whose view matches. So the block with the view `ds`
    # answers all DS queries, in the same way for all names.
    return f"""{_HEAD}
{domain}:{port} in-addr.arpa:{port} ip6.arpa:{port} {{
    {common}
    health {settings.address}:{settings.health_port} {{
        lameduck 5s
    }}
    ready {settings.address}:{settings.ready_port}
    reload
    metadata
{_allowed_view(group_lines)}
    kubernetes {domain} in-addr.arpa ip6.arpa {{{kubeconfig}
        pods verified
        ttl 30
        fallthrough in-addr.arpa ip6.arpa
    }}
    cache 30 in-addr.arpa ip6.arpa
    loadbalance
    {forward}
}}

# The client may not resolve the name. Answer that the name does not exist.
{domain}:{port} {{
    {common}
{_view("denied", f"{_CLIENT} != ''")}
    template ANY ANY {{
        rcode NXDOMAIN
        authority "{authority}"
    }}
}}

# CoreDNS does not know the client yet, for example a new pod. Refuse the query, so that the client retries.
{domain}:{port} {{
    {common}
{_view("unknown", f"{_CLIENT} == ''")}
    acl {{
        block
    }}
}}

# No name in the cluster has a DS record.
{domain}:{port} {{
    {common}
{_view("ds", "type() == 'DS'")}
    template ANY ANY {{
        rcode NOERROR
        authority "{authority}"
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


def coredns_config_map(namespace_groups: Iterable[Collection[str]]) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": COREDNS_CONFIG_MAP, "namespace": COREDNS_NAMESPACE},
        "data": {COREFILE_KEY: corefile(namespace_groups)},
    }


def unlisted_groups(namespace_groups: Iterable[Collection[str]]) -> int:
    """The number of groups that the Corefile cannot list, because the ConfigMap would be too large.

    The pods of such a group can resolve only the names in their own namespace and in shared namespaces.
    """
    _, unlisted = _group_lines(namespace_groups)
    return len(unlisted)


def _group_lines(namespace_groups: Iterable[Collection[str]]) -> tuple[list[str], list[str]]:
    """The lines of the groups that the Corefile lists, and the lines of groups that do not fit.

    Each group has one line. Only these groups need a line:

    - Groups of several namespaces, because the name of a namespace does not show its tenant. For example,
      `tenant-a-b` can belong to tenant `a` or to tenant `a-b`.
    - Groups with an adopted namespace. Otherwise, CoreDNS would treat the adopted namespace as a namespace of
      the platform. So these groups are listed even if the list becomes too large.
    """
    adopted, others = [], []
    for group in namespace_groups:
        line = f"/{'/'.join(sorted(group))}/"
        if not all(name.startswith(_PREFIX) for name in group):
            adopted.append(line)
        elif len(group) > 1:
            others.append(line)
    others.sort()
    size, fitting = sum(len(line) + 1 for line in adopted), 0
    for line in others:
        size += len(line) + 1
        if size > _MAX_LIST_SIZE:
            break
        fitting += 1
    return sorted([*adopted, *others[:fitting]]), others[fitting:]


def _allowed_view(group_lines: list[str]) -> str:
    """The CoreDNS view that matches a query if the client may resolve the name.

    Only this view contains the list of groups, because the list can be large.
    """
    # The groups are one string, which the expression splits for each query. A list with an element for each
    # group could exceed the limit of 10,000 nodes in an expression.
    families = "\n".join(group_lines)
    shared = ", ".join(f"'{namespace}'" for namespace in _SHARED_NAMESPACES)
    return _view(
        "allowed",
        f"""
            let client = {_CLIENT};
            let target = metadata('kubernetes/namespace');
            let families = `
{families}
`;
            let is_tenant = client startsWith '{_PREFIX}' || families contains ('/' + client + '/');
            let is_platform = client != '' && not is_tenant;
            let is_shared = target in [{shared}] && not (name() endsWith '.arpa.');
            let is_own = client != '' && client == target;
            is_platform || is_shared || is_own || any(
                split(families, '\\n'),
                # contains ('/' + client + '/') && # contains ('/' + target + '/')
            )
        """,
    )


def _view(name: str, expression: str) -> str:
    return f"""\
    view {name} {{
        expr "{expression}"
    }}"""
