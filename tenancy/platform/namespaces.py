"""The platform's namespaces: one for the watcher, and one for services that all tenants share.

Operators deploy workloads to the shared namespace. The pods of every tenant can connect to these workloads.
The workloads themselves can connect only to the cluster's DNS, unless an operator adds a NetworkPolicy.
"""

from tenancy.base.labels import MANAGED_LABEL, SHARED_LABEL
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import SHARED_NAMESPACE, SYSTEM_NAMESPACE
from tenancy.objects.network_policies import CLUSTER_DNS, DNS_PORTS, Rules
from tenancy.spec.settings import PodSecurity


def platform_namespaces() -> list[Manifest]:
    return [
        _namespace(SYSTEM_NAMESPACE, PodSecurity.RESTRICTED, {}),
        _namespace(SHARED_NAMESPACE, PodSecurity.BASELINE, {SHARED_LABEL: "true"}),
    ]


def shared_network_policies() -> list[Manifest]:
    tenants = {"namespaceSelector": {"matchLabels": {MANAGED_LABEL: "true"}}}
    policies: dict[str, tuple[Rules, Rules]] = {
        "default-deny-all": ([], []),
        "allow-tenants": ([{"from": [tenants]}], []),
        "allow-dns": ([], [{"to": [CLUSTER_DNS], "ports": DNS_PORTS}]),
    }
    return [
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": {"name": name, "namespace": SHARED_NAMESPACE},
            "spec": {
                "podSelector": {},
                "policyTypes": ["Ingress", "Egress"],
                "ingress": ingress,
                "egress": egress,
            },
        }
        for name, (ingress, egress) in policies.items()
    ]


def _namespace(name: str, level: PodSecurity, labels: dict[str, str]) -> Manifest:
    security = {f"pod-security.kubernetes.io/{mode}": level.value for mode in ("enforce", "audit", "warn")}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {**security, **labels}},
    }
