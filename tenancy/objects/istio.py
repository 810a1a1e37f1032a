"""The Istio objects of one tenant: Gateway, AuthorizationPolicy, PeerAuthentication and Sidecar.

These objects do not add sidecars to pods. The label `istio-injection` of a namespace decides whether its pods
get a sidecar.
"""

from typing import Any, Final

from tenancy.base.manifest import Manifest, namespaced_manifest
from tenancy.base.platform_names import SHARED_NAMESPACE
from tenancy.objects.policy_annotations import hostnames
from tenancy.spec.settings import TenantSettings
from tenancy.spec.tenant import TenantModel

NETWORKING: Final = "networking.istio.io/v1"
SECURITY: Final = "security.istio.io/v1"
CONTROL_PLANE: Final = "istio-system"
_GATEWAY_SELECTOR: Final = {"istio": "ingressgateway"}


def istio_objects(tenant: TenantModel, settings: TenantSettings) -> list[Manifest]:
    """The Istio objects of one tenant.

    The Gateway is in the tenant's first namespace. It is created only if the tenant has hostnames. All other
    objects are created in each namespace.
    """
    own_namespaces = sorted(tenant.namespaces())
    manifests: list[Manifest] = []
    if hosts := hostnames(tenant.name, settings):
        first_namespace = next(iter(tenant.namespaces()))
        spec = _gateway(settings, own_namespaces, hosts)
        manifests.append(
            namespaced_manifest(
                NETWORKING, "Gateway", tenant.name, first_namespace, "tenant-gateway", spec=spec
            )
        )
    for namespace in tenant.namespaces():
        for api_version, kind, name, spec in (
            (SECURITY, "PeerAuthentication", "default", {"mtls": {"mode": "STRICT"}}),
            (SECURITY, "AuthorizationPolicy", "tenant-isolation", _authorization(settings, own_namespaces)),
            (NETWORKING, "Sidecar", "default", _sidecar(own_namespaces)),
        ):
            manifests.append(namespaced_manifest(api_version, kind, tenant.name, namespace, name, spec=spec))
    return manifests


def gateway_namespace(settings: TenantSettings) -> str:
    return settings.istio.gateway_namespace or CONTROL_PLANE


def _gateway(settings: TenantSettings, own_namespaces: list[str], hosts: tuple[str, ...]) -> dict[str, Any]:
    # A host in the form NAMESPACE/HOST accepts routes only from that namespace. A host without a namespace
    # would accept routes from every tenant in the mesh.
    gateway_hosts = [f"{namespace}/{host}" for host in hosts for namespace in own_namespaces]
    http: dict[str, Any] = {
        "port": {"number": 80, "name": "http", "protocol": "HTTP"},
        "hosts": gateway_hosts,
    }
    servers = [http]
    if settings.istio.tls_secret:
        http["tls"] = {"httpsRedirect": True}
        servers.append(
            {
                "port": {"number": 443, "name": "https", "protocol": "HTTPS"},
                "hosts": gateway_hosts,
                "tls": {"mode": "SIMPLE", "credentialName": settings.istio.tls_secret},
            }
        )
    return {"selector": settings.istio.gateway_selector or _GATEWAY_SELECTOR, "servers": servers}


def _authorization(settings: TenantSettings, own_namespaces: list[str]) -> dict[str, Any]:
    sources = list(dict.fromkeys((*own_namespaces, gateway_namespace(settings))))
    return {"action": "ALLOW", "rules": [{"from": [{"source": {"namespaces": sources}}]}]}


def _sidecar(own_namespaces: list[str]) -> dict[str, Any]:
    # A Sidecar lists namespaces by name. It can't select namespaces by label.
    visible_namespaces = (".", *own_namespaces, SHARED_NAMESPACE, CONTROL_PLANE)
    return {"egress": [{"hosts": [f"{namespace}/*" for namespace in visible_namespaces]}]}
