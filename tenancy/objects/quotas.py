"""The ResourceQuotas and the LimitRange of one namespace.

With `quotaScope: Tenant`, the quotas are a budget for the whole tenant, and this module computes the share of
each namespace. If the shares change, `quota_transition` computes the steps from the old shares to the new
shares.
"""

from decimal import Decimal
from functools import lru_cache
from typing import Final

from tenancy.base.errors import InvalidSpec
from tenancy.base.manifest import Manifest, namespaced_manifest
from tenancy.base.quantity import canonical_quantity, quantity_value
from tenancy.base.quota_keys import CPU_KEYS, OVERRIDE_KEYS, QUOTA_KEYS
from tenancy.objects.object_counts import OBJECT_COUNTS
from tenancy.spec.settings import QuotaScope, TenantSettings
from tenancy.spec.tenant import TenantModel

# Limits on the number of ResourceQuotas are not split. Each namespace has all of the tenant's ResourceQuotas,
# so it needs the whole limit.
UNSPLIT_KEYS: Final = frozenset(QUOTA_KEYS)


def resource_quotas(tenant: TenantModel, settings: TenantSettings, namespace: str) -> list[Manifest]:
    """The ResourceQuotas of one namespace.

    Raises InvalidSpec in two cases:

    - A quota allows fewer ResourceQuotas than the settings define for each namespace.
    - A quota has the name `tenant-object-counts`, which is reserved for the platform.
    """
    if any(quota.name == OBJECT_COUNTS for quota in settings.quotas):
        raise InvalidSpec("spec.quotas", f"the platform has a quota {OBJECT_COUNTS!r}: use another name")
    _check_quota_count(settings)
    tenant_amounts = tenant.spec.resource_quotas.model_dump(exclude_none=True)
    overrides = {
        resource: tenant_amounts[field]
        for field, resources in OVERRIDE_KEYS.items()
        if field in tenant_amounts
        for resource in resources
    }
    quotas = []
    for quota in settings.quotas:
        hard = {resource: overrides.get(resource, amount) for resource, amount in quota.hard.items()}
        if settings.quota_scope is QuotaScope.TENANT:
            hard = {
                resource: _share(tenant, namespace, resource, amount) for resource, amount in hard.items()
            }
        # If the limit on ResourceQuotas does not include the platform's own ResourceQuota, raise the limit
        # by 1.
        for resource in hard.keys() & QUOTA_KEYS:
            if quantity_value(hard[resource]) == _quota_count(settings):
                hard[resource] = str(_quota_count(settings) + 1)
        quotas.append(
            namespaced_manifest(
                "v1", "ResourceQuota", tenant.name, namespace, quota.name, spec={"hard": hard}
            )
        )
    return quotas


def limit_range(tenant: TenantModel, settings: TenantSettings, namespace: str) -> Manifest:
    """The LimitRange of one namespace, with defaults and maxima for containers.

    A ResourceQuota can reject pods that set no requests or no limits. The defaults prevent such rejections.
    """
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
    return namespaced_manifest("v1", "LimitRange", tenant.name, namespace, "tenant-limits", spec=spec)


@lru_cache(maxsize=1024)
def shares(total: int, weights: tuple[int, ...]) -> tuple[int, ...]:
    """Split `total` in proportion to the weights. The shares are integers, and their sum is `total`.

    All shares are rounded down first. The shares with the largest remainders then get one more unit each,
    until no units are left. If remainders are equal, earlier shares get a unit first.
    """
    weight_sum = sum(weights)
    quotients = [divmod(total * weight, weight_sum) for weight in weights]
    left_over = total - sum(share for share, _ in quotients)
    by_remainder = sorted(range(len(quotients)), key=lambda index: -quotients[index][1])
    rounded_up = by_remainder[:left_over]
    return tuple(share + (index in rounded_up) for index, (share, _) in enumerate(quotients))


def _share(tenant: TenantModel, namespace: str, resource: str, amount: str) -> str:
    """One namespace's share of the tenant's budget for a resource. `amount` is the budget.

    Shares of CPU are multiples of a thousandth of a core. Shares of other resources are whole numbers.
    """
    if resource in UNSPLIT_KEYS:
        return amount
    weights = {name: spec.weight if spec else 1 for name, spec in tenant.namespaces().items()}
    # Sorted by name, so that the order of the namespaces in the spec does not affect the shares.
    names = sorted(weights)
    unit = Decimal("0.001") if resource in CPU_KEYS else Decimal(1)
    total = int(quantity_value(amount) / unit)
    share = shares(total, tuple(weights[name] for name in names))[names.index(namespace)]
    if amount.endswith("i") and share % 1024 == 0:
        return canonical_quantity(f"{share // 1024}Ki")
    return canonical_quantity(f"{share * unit:f}")


def _check_quota_count(settings: TenantSettings) -> None:
    """Raise InvalidSpec if a quota allows fewer ResourceQuotas than the settings define for each namespace.

    Without this check, the API server would reject the surplus ResourceQuotas later, when other objects of
    the tenant already exist.
    """
    quota_count = _quota_count(settings)
    for quota in settings.quotas:
        for resource in QUOTA_KEYS:
            if resource in quota.hard and quantity_value(quota.hard[resource]) < quota_count:
                raise InvalidSpec(
                    "spec.quotas",
                    f"each namespace has {quota_count} ResourceQuotas, but quota {quota.name!r} limits "
                    f"{resource} to {quota.hard[resource]}: raise this limit, or remove quotas",
                )


def _quota_count(settings: TenantSettings) -> int:
    """The number of ResourceQuotas that the settings define for each namespace."""
    extra = sum(1 for manifest in settings.extra_resources if manifest.get("kind") == "ResourceQuota")
    return len(settings.quotas) + extra
