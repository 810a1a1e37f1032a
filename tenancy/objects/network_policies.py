"""NetworkPolicies of one namespace. Isolation is not a choice: a plan can only add named neighbours.

Every policy states both its lists, empty ones too: a rule slipped into a field that we left
out would be somebody else's field, and would stay.
"""

from typing import Any, Final

from tenancy.base.manifest import Manifest, namespaced
from tenancy.base.names import SHARED_LABEL, object_labels
from tenancy.spec.settings import Addresses, PortRange, TenantSettings
from tenancy.spec.tenant import Tenant

# A label that the API server itself keeps on every namespace.
_NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
_ISTIO_NAMESPACE: Final = "istio-system"
# Where sidecars get their configuration and their certificates, over TLS.
_CONTROL_PLANE_PORTS: Final = [{"protocol": "TCP", "port": 15012}]
DNS_PORTS: Final = [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]
CLUSTER_DNS: Final = {
    "namespaceSelector": {"matchLabels": {_NAMESPACE_NAME: "kube-system"}},
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
        "allow-dns": ([], [{"to": [CLUSTER_DNS], "ports": DNS_PORTS}]),
        "allow-platform-shared": ([], [{"to": [_namespaces_with({SHARED_LABEL: "true"})]}]),
    }
    network = settings.network
    if network.ingress_controller:
        policies["allow-ingress-controller"] = (_ingress_from(network.ingress_controller), [])
    if network.monitoring:
        policies["allow-monitoring"] = (_ingress_from(network.monitoring), [])
    if network.egress:
        policies["allow-egress"] = ([], [_address_rule("to", addresses) for addresses in network.egress])
    if network.ingress:
        policies["allow-ingress"] = ([_address_rule("from", addresses) for addresses in network.ingress], [])
    if settings.istio.enabled:
        policies["allow-mesh"] = _mesh_rules(settings.istio.gateway_namespace or _ISTIO_NAMESPACE)
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


def _address_rule(direction: str, addresses: Addresses) -> dict[str, Any]:
    """Meant for addresses outside. Where a network plugin matches pods by it too, the walls of the tenant
    at the other end still stand."""
    block: dict[str, Any] = {"cidr": addresses.cidr}
    if addresses.except_:
        block["except"] = list(addresses.except_)
    rule: dict[str, Any] = {direction: [{"ipBlock": block}]}
    if addresses.ports:
        rule["ports"] = [_port(ports) for ports in addresses.ports]
    return rule


def _port(ports: PortRange) -> dict[str, Any]:
    port: dict[str, Any] = {"protocol": ports.protocol.value, "port": ports.port}
    return port if ports.end_port is None else {**port, "endPort": ports.end_port}


def _mesh_rules(gateway_namespace: str) -> tuple[Rules, Rules]:
    """The gateway comes in; sidecars go to the control plane, which may stand beside the gateway."""
    gateway, *rest = (
        _namespaces_with({_NAMESPACE_NAME: name})
        for name in dict.fromkeys((gateway_namespace, _ISTIO_NAMESPACE))
    )
    return [{"from": [gateway]}], [{"to": [gateway, *rest], "ports": _CONTROL_PLANE_PORTS}]
