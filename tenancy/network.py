"""NetworkPolicies of one namespace. Isolation is not a choice: a plan can only add named neighbours.

Every policy states both its lists, empty ones too: a rule slipped into a field that we left
out would be somebody else's field, and would stay.
"""

from typing import Any, Final

from tenancy.manifest import Manifest, namespaced
from tenancy.names import SHARED_LABEL, object_labels
from tenancy.settings import TenantSettings
from tenancy.tenant import Tenant

_DNS_PORTS: Final = [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]
_CLUSTER_DNS: Final = {
    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
    "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
}

Rules = list[dict[str, Any]]


def network_policies(tenant: Tenant, settings: TenantSettings, namespace: str) -> list[Manifest]:
    own = _namespaces_with(object_labels(tenant.name))
    policies: dict[str, tuple[Rules, Rules]] = {
        "default-deny-all": ([], []),
        "allow-intra-tenant": ([{"from": [own]}], [{"to": [own]}]),
        # Selects every pod as default-deny-all does, so that the wall stands while either is away.
        "tenant-isolation": ([{"from": [own]}], []),
        "allow-dns": ([], [{"to": [_CLUSTER_DNS], "ports": _DNS_PORTS}]),
        "allow-platform-shared": ([], [{"to": [_namespaces_with({SHARED_LABEL: "true"})]}]),
    }
    if settings.network.ingress_controller:
        policies["allow-ingress-controller"] = (_ingress_from(settings.network.ingress_controller), [])
    if settings.network.monitoring:
        policies["allow-monitoring"] = (_ingress_from(settings.network.monitoring), [])
    return [
        namespaced(
            "networking.k8s.io/v1",
            "NetworkPolicy",
            tenant.name,
            namespace,
            name,
            spec={
                "podSelector": {},
                "policyTypes": ["Ingress", "Egress"],
                "ingress": ingress,
                "egress": egress,
            },
        )
        for name, (ingress, egress) in policies.items()
    ]


def _namespaces_with(labels: dict[str, str]) -> dict[str, Any]:
    return {"namespaceSelector": {"matchLabels": labels}}


def _ingress_from(labels: dict[str, str]) -> Rules:
    return [{"from": [_namespaces_with(labels)]}]
