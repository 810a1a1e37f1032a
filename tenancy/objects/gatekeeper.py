"""Gatekeeper's constraints of one tenant: trusted registries and pod security.

Called by `integrations`. What a constraint checks stands in its template: see `constraint_templates`.
"""

from typing import Any, Final

from tenancy.base.manifest import Manifest
from tenancy.base.names import object_labels
from tenancy.spec.settings import PodSecurity, TenantSettings
from tenancy.spec.tenant import Tenant

API_VERSION: Final = "constraints.gatekeeper.sh/v1beta1"
REGISTRIES_KIND: Final = "TenantImageRegistries"
POD_SECURITY_KIND: Final = "TenantPodSecurity"


def gatekeeper_objects(tenant: Tenant, settings: TenantSettings) -> list[Manifest]:
    made: list[Manifest] = []
    if settings.registries is not None:
        made.append(_constraint(REGISTRIES_KIND, tenant, {"registries": list(settings.registries)}))
    if settings.pod_security is not PodSecurity.PRIVILEGED:
        made.append(_constraint(POD_SECURITY_KIND, tenant, {"level": settings.pod_security.value}))
    return made


def _constraint(kind: str, tenant: Tenant, parameters: dict[str, Any]) -> Manifest:
    return {
        "apiVersion": API_VERSION,
        "kind": kind,
        # Constraints have no namespace: the tenant is in the name.
        "metadata": {"name": f"tenant-{tenant.name}", "labels": object_labels(tenant.name)},
        "spec": {
            # The default, which the API server would fill in.
            "enforcementAction": "deny",
            "match": {
                "kinds": [{"apiGroups": [""], "kinds": ["Pod"]}],
                "namespaces": sorted(tenant.namespaces()),
            },
            "parameters": parameters,
        },
    }
