"""The NetworkPolicies of one namespace. Plans and tenants can allow more peers, but can't disable isolation.

Every policy sets both `ingress` and `egress`. If there are no rules, the value is an empty list. So the
platform owns both fields, and removes rules that somebody else adds. If a policy did not set a field, the
field would belong to the client that first adds a rule. Then the platform would not remove the rule.
"""

from typing import Any, Final

from tenancy.base.labels import SHARED_LABEL, object_labels
from tenancy.base.manifest import Manifest, namespaced_manifest
from tenancy.spec.network_settings import Addresses, PortRange
from tenancy.spec.settings import TenantSettings
from tenancy.spec.tenant import TenantModel

# The API server sets this label on every namespace.
_NAMESPACE_NAME_LABEL: Final = "kubernetes.io/metadata.name"
_ISTIO_NAMESPACE: Final = "istio-system"
# The TLS port from which sidecars get their configuration and certificates.
_CONTROL_PLANE_PORTS: Final = [{"protocol": "TCP", "port": 15012}]
DNS_PORTS: Final = [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]
CLUSTER_DNS: Final = {
    "namespaceSelector": {"matchLabels": {_NAMESPACE_NAME_LABEL: "kube-system"}},
    "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
}

Rules = list[dict[str, Any]]


def network_policies(tenant: TenantModel, settings: TenantSettings, namespace: str) -> list[Manifest]:
    """The NetworkPolicies of one namespace. Some exist in every namespace, others depend on the settings."""
    own_namespaces = _namespaces_with(object_labels(tenant.name))
    policies: dict[str, tuple[Rules, Rules]] = {
        "default-deny-all": ([], []),
        "allow-intra-tenant": ([{"from": [own_namespaces]}], [{"to": [own_namespaces]}]),
        # This policy selects every pod, as default-deny-all does. If somebody deletes one of the two
        # policies, the other one keeps the pods isolated.
        "tenant-isolation": ([{"from": [own_namespaces]}], []),
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
        namespaced_manifest(
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
    """A rule for addresses outside the cluster.

    With some network plugins, an ipBlock also matches pods. If the ipBlock matches pods of another tenant,
    the policies of that tenant still reject the connection.
    """
    block: dict[str, Any] = {"cidr": addresses.cidr}
    if addresses.except_:
        block["except"] = list(addresses.except_)
    rule: dict[str, Any] = {direction: [{"ipBlock": block}]}
    if addresses.ports:
        rule["ports"] = [_port(port_range) for port_range in addresses.ports]
    return rule


def _port(port_range: PortRange) -> dict[str, Any]:
    port: dict[str, Any] = {"protocol": port_range.protocol.value, "port": port_range.port}
    return port if port_range.end_port is None else {**port, "endPort": port_range.end_port}


def _mesh_rules(gateway_namespace: str) -> tuple[Rules, Rules]:
    """Ingress rules for Istio's ingress gateway, and egress rules for Istio's control plane.

    Sidecars connect to the control plane. It can run in the namespace of the gateway or in `istio-system`, so
    the rules allow both namespaces.
    """
    gateway, *others = (
        _namespaces_with({_NAMESPACE_NAME_LABEL: name})
        for name in dict.fromkeys((gateway_namespace, _ISTIO_NAMESPACE))
    )
    return [{"from": [gateway]}], [{"to": [gateway, *others], "ports": _CONTROL_PLANE_PORTS}]
