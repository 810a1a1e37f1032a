"""Istio's objects of one tenant: gateway, authorization, strict TLS between pods, sidecar scope.

Called by `integrations`. Whether pods get a sidecar at all is said by the namespace's label.
"""

from typing import Any, Final

from tenancy.base.manifest import Manifest, namespaced
from tenancy.base.platform_names import SHARED_NAMESPACE
from tenancy.objects.policy_annotations import hostnames
from tenancy.spec.settings import TenantSettings
from tenancy.spec.tenant import Tenant

NETWORKING: Final = "networking.istio.io/v1"
SECURITY: Final = "security.istio.io/v1"
CONTROL_PLANE: Final = "istio-system"
_GATEWAY_SELECTOR: Final = {"istio": "ingressgateway"}


def istio_objects(tenant: Tenant, settings: TenantSettings) -> list[Manifest]:
    own = sorted(tenant.namespaces())
    made: list[Manifest] = []
    if hosts := hostnames(tenant.name, settings):
        home = next(iter(tenant.namespaces()))
        spec = _gateway(settings, own, hosts)
        made.append(namespaced(NETWORKING, "Gateway", tenant.name, home, "tenant-gateway", spec=spec))
    for namespace in tenant.namespaces():
        for api_version, kind, name, spec in (
            (SECURITY, "PeerAuthentication", "default", {"mtls": {"mode": "STRICT"}}),
            (SECURITY, "AuthorizationPolicy", "tenant-isolation", _authorization(settings, own)),
            (NETWORKING, "Sidecar", "default", _sidecar(own)),
        ):
            made.append(namespaced(api_version, kind, tenant.name, namespace, name, spec=spec))
    return made


def gateway_namespace(settings: TenantSettings) -> str:
    return settings.istio.gateway_namespace or CONTROL_PLANE


def _gateway(settings: TenantSettings, own: list[str], hosts: tuple[str, ...]) -> dict[str, Any]:
    # With a namespace in front, only routes from there are taken: a host alone would let every
    # tenant of the mesh attach routes to it.
    routed = [f"{namespace}/{host}" for host in hosts for namespace in own]
    http: dict[str, Any] = {
        "port": {"number": 80, "name": "http", "protocol": "HTTP"},
        "hosts": routed,
    }
    servers = [http]
    if settings.istio.tls_secret:
        http["tls"] = {"httpsRedirect": True}
        servers.append(
            {
                "port": {"number": 443, "name": "https", "protocol": "HTTPS"},
                "hosts": routed,
                "tls": {"mode": "SIMPLE", "credentialName": settings.istio.tls_secret},
            }
        )
    return {"selector": settings.istio.gateway_selector or _GATEWAY_SELECTOR, "servers": servers}


def _authorization(settings: TenantSettings, own: list[str]) -> dict[str, Any]:
    let_in = list(dict.fromkeys((*own, gateway_namespace(settings))))
    return {"action": "ALLOW", "rules": [{"from": [{"source": {"namespaces": let_in}}]}]}


def _sidecar(own: list[str]) -> dict[str, Any]:
    # A Sidecar can only name namespaces, not select them.
    seen = (".", *own, SHARED_NAMESPACE, CONTROL_PLANE)
    return {"egress": [{"hosts": [f"{namespace}/*" for namespace in seen]}]}
