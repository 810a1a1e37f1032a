"""ResourceQuotas and the LimitRange of one namespace."""

from typing import Final

from tenancy.manifest import Manifest, namespaced
from tenancy.settings import TenantSettings
from tenancy.tenant import Tenant

# Which quota keys a tenant's own figure stands for.
_OVERRIDES: Final = {
    "cpu": ("cpu", "requests.cpu", "limits.cpu"),
    "memory": ("memory", "requests.memory", "limits.memory"),
    "storage": ("requests.storage",),
}


def resource_quotas(tenant: Tenant, settings: TenantSettings, namespace: str) -> list[Manifest]:
    own = tenant.spec.resource_quotas.model_dump(exclude_none=True)
    figures = {key: own[field] for field, keys in _OVERRIDES.items() if field in own for key in keys}
    return [
        namespaced(
            "v1",
            "ResourceQuota",
            tenant.name,
            namespace,
            quota.name,
            spec={"hard": {key: figures.get(key, amount) for key, amount in quota.hard.items()}},
        )
        for quota in settings.quotas
    ]


def limit_range(tenant: Tenant, settings: TenantSettings, namespace: str) -> Manifest:
    """Defaults, so that a pod without requests is admitted under the quota, and maxima."""
    limits = settings.limits
    container = {"type": "Container"} | {
        key: amounts
        for key, amounts in (
            ("default", limits.default),
            ("defaultRequest", limits.default_request),
            ("max", limits.max),
        )
        if amounts
    }
    spec = {"limits": [container]}
    return namespaced("v1", "LimitRange", tenant.name, namespace, "tenant-limits", spec=spec)
