"""The part of a Tenant's status that reports usage. Pure."""

from collections.abc import Mapping

from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.base.model import Model
from tenancy.base.quantity import quantity_value
from tenancy.spec.tenant_status import QuotaUsage, ResourceUsage, TenantUsage
from tenancy.usage import Amounts, MeasuredUsage, namespace_amounts, total_amounts


def with_usage(
    status: Manifest, live: Mapping[ObjectKey, Manifest], measured: MeasuredUsage | None
) -> Manifest:
    """The status with the tenant's current usage, in total and by namespace."""
    by_namespace = namespace_amounts(live)
    amounts = total_amounts(by_namespace.values())
    usage = TenantUsage(
        pods=int(quantity_value(amounts["pods"].used)) if "pods" in amounts else None,
        quotas={
            resource: QuotaUsage(used=amount.used, hard=amount.hard) for resource, amount in amounts.items()
        },
        cpu=measured.cpu_text if measured else None,
        memory=measured.memory_text if measured else None,
    )
    namespaces = {
        name: {**known, "resourceUsage": _written(_resource_usage(by_namespace.get(name, {})))}
        for name, known in (status.get("namespaceStatus") or {}).items()
    }
    return {
        **status,
        **({"namespaceStatus": namespaces} if namespaces else {}),
        "usage": _written(usage),
    }


def _resource_usage(amounts: Amounts) -> ResourceUsage:
    used = {resource: amount.used for resource, amount in amounts.items()}
    return ResourceUsage(cpu=used.get("cpu"), memory=used.get("memory"), storage=used.get("storage"))


def _written(part: Model) -> Manifest:
    return part.model_dump(by_alias=True, mode="json", exclude_none=True)
