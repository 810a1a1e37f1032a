"""The platform's namespaces: one for the watcher, and one for services that all tenants share.

Administrators deploy workloads to the shared namespace. The pods of every tenant can connect to these
workloads. The workloads themselves can connect only to the cluster's DNS, unless an administrator adds a
NetworkPolicy. The watcher's pod can connect only to DNS, the API server and the state backend.
"""

from collections.abc import Mapping
from typing import Final

from tenancy.base.labels import MANAGED_LABEL, SHARED_LABEL
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import CLUSTER_NETWORKS, HTTP_PORT, SHARED_NAMESPACE, SYSTEM_NAMESPACE
from tenancy.objects.network_policies import CLUSTER_DNS, DNS_PORTS, Rules
from tenancy.platform.settings import PlatformSettings
from tenancy.spec.settings import PodSecurity

# Ingress rules and egress rules, by the name of the NetworkPolicy.
Policies = Mapping[str, tuple[Rules, Rules]]

_DENY_ALL: Final[Policies] = {"default-deny-all": ([], [])}
_DNS: Final[tuple[Rules, Rules]] = ([], [{"to": [CLUSTER_DNS], "ports": DNS_PORTS}])


def platform_namespaces(settings: PlatformSettings) -> list[Manifest]:
    system = _namespace(SYSTEM_NAMESPACE, PodSecurity.RESTRICTED, {})
    # The admission policies read the annotation.
    system["metadata"]["annotations"] = {CLUSTER_NETWORKS: ",".join(settings.cluster_networks)}
    return [
        system,
        _namespace(SHARED_NAMESPACE, PodSecurity.BASELINE, {SHARED_LABEL: "true"}),
    ]


def platform_network_policies(settings: PlatformSettings) -> list[Manifest]:
    """The NetworkPolicies of both namespaces."""
    return [*_system_policies(settings), *_shared_policies()]


def _system_policies(settings: PlatformSettings) -> list[Manifest]:
    """The NetworkPolicies of the watcher's namespace.

    A NetworkPolicy cannot select the API server, because the API server has no pod in most clusters. So the
    policy allows the port of the API server at all addresses. The same applies to the state backend.
    """
    ports = sorted({*settings.egress_ports, *filter(None, [settings.backend_port])})
    return _policies(
        SYSTEM_NAMESPACE,
        {
            **_DENY_ALL,
            "allow-http": ([{"ports": _tcp(HTTP_PORT)}], []),
            "allow-dns": _DNS,
            "allow-api-server-and-backend": ([], [{"ports": _tcp(*ports)}]),
        },
    )


def _shared_policies() -> list[Manifest]:
    tenants = {"namespaceSelector": {"matchLabels": {MANAGED_LABEL: "true"}}}
    return _policies(
        SHARED_NAMESPACE,
        {**_DENY_ALL, "allow-tenants": ([{"from": [tenants]}], []), "allow-dns": _DNS},
    )


def _policies(namespace: str, policies: Policies) -> list[Manifest]:
    """NetworkPolicies for all pods of a namespace."""
    return [
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "podSelector": {},
                "policyTypes": ["Ingress", "Egress"],
                "ingress": ingress,
                "egress": egress,
            },
        }
        for name, (ingress, egress) in policies.items()
    ]


def _tcp(*ports: int) -> Rules:
    return [{"protocol": "TCP", "port": port} for port in ports]


def _namespace(name: str, level: PodSecurity, labels: dict[str, str]) -> Manifest:
    security = {f"pod-security.kubernetes.io/{mode}": level.value for mode in ("enforce", "audit", "warn")}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {**security, **labels}},
    }
