"""ResourceQuotas and the LimitRange of one namespace.

Called by `desired`. Where the quotas are one budget for the whole tenant, each namespace gets its share
here; how to move from old shares to new ones is told in `quota_transition`.
"""

from decimal import Decimal
from functools import lru_cache
from typing import Final

from tenancy.base.errors import InvalidSpec
from tenancy.base.manifest import Manifest, namespaced
from tenancy.base.quantity import canonical_quantity, quantity_value
from tenancy.spec.settings import QuotaScope, TenantSettings
from tenancy.spec.tenant import Tenant

# Which quota keys a tenant's own figure stands for.
_OVERRIDES: Final = {
    "cpu": ("cpu", "requests.cpu", "limits.cpu"),
    "memory": ("memory", "requests.memory", "limits.memory"),
    "storage": ("requests.storage",),
}
_CPU_KEYS: Final = _OVERRIDES["cpu"]
_QUOTA_COUNTS: Final = ("resourcequotas", "count/resourcequotas")
# Every namespace has all the quotas, so each needs the whole figure.
UNSPLIT: Final = frozenset(_QUOTA_COUNTS)


def resource_quotas(tenant: Tenant, settings: TenantSettings, namespace: str) -> list[Manifest]:
    _check_room(settings)
    own = tenant.spec.resource_quotas.model_dump(exclude_none=True)
    figures = {key: own[field] for field, keys in _OVERRIDES.items() if field in own for key in keys}
    quotas = []
    for quota in settings.quotas:
        hard = {key: figures.get(key, amount) for key, amount in quota.hard.items()}
        if settings.quota_scope is QuotaScope.TENANT:
            hard = {key: _share(tenant, namespace, key, amount) for key, amount in hard.items()}
        quotas.append(
            namespaced("v1", "ResourceQuota", tenant.name, namespace, quota.name, spec={"hard": hard})
        )
    return quotas


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


@lru_cache(maxsize=1024)
def shares(total: int, weights: tuple[int, ...]) -> tuple[int, ...]:
    """`total` split by weight into whole numbers that add up to it. What rounding leaves over goes where
    it was cut off most; among equals, to the first."""
    whole = sum(weights)
    split = [divmod(total * weight, whole) for weight in weights]
    left = total - sum(share for share, _ in split)
    neediest = sorted(range(len(split)), key=lambda place: -split[place][1])[:left]
    return tuple(share + (place in neediest) for place, (share, _) in enumerate(split))


def _share(tenant: Tenant, namespace: str, key: str, amount: str) -> str:
    """What one namespace gets of a budget: CPU to the milli, everything else in bytes or pieces."""
    if key in UNSPLIT:
        return amount
    weights = {name: given.weight if given else 1 for name, given in tenant.namespaces().items()}
    # By name: the order in the spec decides nothing, so changing it moves nothing.
    names = sorted(weights)
    unit = Decimal("0.001") if key in _CPU_KEYS else Decimal(1)
    total = int(quantity_value(amount) / unit)
    share = shares(total, tuple(weights[name] for name in names))[names.index(namespace)]
    if amount.endswith("i") and share % 1024 == 0:
        return canonical_quantity(f"{share // 1024}Ki")
    return canonical_quantity(f"{share * unit:f}")


def _check_room(settings: TenantSettings) -> None:
    """The API server would refuse the first quota over the figure, with half the tenant made."""
    extra = sum(1 for manifest in settings.extra_resources if manifest.get("kind") == "ResourceQuota")
    made = len(settings.quotas) + extra
    for quota in settings.quotas:
        for key in _QUOTA_COUNTS:
            if key in quota.hard and quantity_value(quota.hard[key]) < made:
                raise InvalidSpec(
                    "spec.quotas",
                    f"the tenant has {made} ResourceQuotas, but quota {quota.name!r} allows "
                    f"{quota.hard[key]} {key}: raise that figure, or have fewer quotas",
                )
