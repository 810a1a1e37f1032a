"""The Gatekeeper constraints of one tenant, for image registries and pod security.

The ConstraintTemplates in `tenancy.platform.constraint_templates` define what these constraints check.
"""

from typing import Any, Final

from tenancy.base.labels import object_labels
from tenancy.base.manifest import Manifest
from tenancy.spec.settings import PodSecurity, TenantSettings
from tenancy.spec.tenant import TenantModel

API_VERSION: Final = "constraints.gatekeeper.sh/v1beta1"
REGISTRIES_KIND: Final = "TenantImageRegistries"
POD_SECURITY_KIND: Final = "TenantPodSecurity"


def gatekeeper_objects(tenant: TenantModel, settings: TenantSettings) -> list[Manifest]:
    """The tenant's constraints. If a setting allows every value, there is no constraint for this setting."""
    constraints: list[Manifest] = []
    if settings.registries is not None:
        constraints.append(_constraint(REGISTRIES_KIND, tenant, {"registries": list(settings.registries)}))
    if settings.pod_security is not PodSecurity.PRIVILEGED:
        constraints.append(_constraint(POD_SECURITY_KIND, tenant, {"level": settings.pod_security.value}))
    return constraints


def _constraint(kind: str, tenant: TenantModel, parameters: dict[str, Any]) -> Manifest:
    return {
        "apiVersion": API_VERSION,
        "kind": kind,
        # Constraints are cluster-scoped, so the name contains the tenant's name.
        "metadata": {"name": f"tenant-{tenant.name}", "labels": object_labels(tenant.name)},
        "spec": {
            # This is the default of the API server. It is set here, so that there is no drift.
            "enforcementAction": "deny",
            "match": {
                "kinds": [{"apiGroups": [""], "kinds": ["Pod"]}],
                "namespaces": sorted(tenant.namespaces()),
            },
            "parameters": parameters,
        },
    }
