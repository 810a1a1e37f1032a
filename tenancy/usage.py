"""The resource usage of a tenant and of each of its namespaces.

There are two kinds of values:

- The used and hard amounts come from the live ResourceQuotas. For CPU and memory, a quota counts what the
  pods request.
- The measured usage comes from PodMetrics. It is the CPU and memory that the containers really consume.
  PodMetrics exist only if the cluster has a metrics server.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from decimal import ROUND_UP, Decimal
from typing import Final, NamedTuple

from tenancy.base.kinds import RESOURCE_QUOTA
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.base.quantity import QUANTITY_MAX, canonical_quantity, quantity_value
from tenancy.base.quota_keys import REPORTED_KEYS

_MILLI: Final = Decimal("0.001")
_MEBI: Final = Decimal(2**20)
_SMALL_SHARE: Final = Decimal("0.1")
_LARGE_SHARE: Final = Decimal("0.5")
_SMALL_CHANGE_AFTER_S: Final = 300.0


class Amount(NamedTuple):
    """The used amount and the hard limit of one resource, as Kubernetes quantities."""

    used: str
    hard: str

    @property
    def ratio(self) -> float:
        """`used` divided by `hard`, rounded to 4 digits. 0 if `hard` is 0."""
        limit = quantity_value(self.hard)
        return round(float(quantity_value(self.used) / limit), 4) if limit else 0.0


# The amounts of one namespace or tenant, by resource, in the order of REPORTED_KEYS.
Amounts = dict[str, Amount]


class MeasuredUsage(NamedTuple):
    """The measured usage of containers. CPU is in cores, and memory is in bytes."""

    cpu: Decimal = Decimal()
    memory: Decimal = Decimal()

    @property
    def cpu_text(self) -> str:
        """The CPU as a Kubernetes quantity, rounded up to a thousandth of a core."""
        return canonical_quantity(f"{self.cpu.quantize(_MILLI, ROUND_UP):f}")

    @property
    def memory_text(self) -> str:
        """The memory as a Kubernetes quantity, rounded up to whole Mi."""
        return canonical_quantity(f"{(self.memory / _MEBI).to_integral_value(ROUND_UP):f}Mi")


def namespace_amounts(live: Mapping[ObjectKey, Manifest]) -> dict[str, Amounts]:
    """The used amounts and the limits of each namespace, from the live ResourceQuotas.

    If several quotas of a namespace limit the same resource, the amount comes from the quota with the lowest
    limit. Quotas with scopes are left out, because such quotas count only some of the pods.
    """
    by_namespace: dict[str, Amounts] = {}
    for key in sorted(key for key in live if key.kind == RESOURCE_QUOTA.key):
        quota = live[key]
        if quota["spec"].keys() & {"scopes", "scopeSelector"}:
            continue
        hard, used = quota["spec"].get("hard") or {}, (quota.get("status") or {}).get("used") or {}
        amounts = by_namespace.setdefault(key.namespace, {})
        for resource, quota_keys in REPORTED_KEYS.items():
            quota_key = next((quota_key for quota_key in quota_keys if quota_key in hard), None)
            if quota_key is None:
                continue
            amount = Amount(used.get(quota_key, "0"), hard[quota_key])
            lowest = amounts.get(resource)
            if lowest is None or quantity_value(amount.hard) < quantity_value(lowest.hard):
                amounts[resource] = amount
    return {namespace: _ordered(amounts) for namespace, amounts in by_namespace.items()}


def total_amounts(namespaces: Iterable[Amounts]) -> Amounts:
    """The amounts of several namespaces, added up for each resource."""
    by_resource: dict[str, list[Amount]] = {}
    for namespace in namespaces:
        for resource, amount in namespace.items():
            by_resource.setdefault(resource, []).append(amount)
    sums = {
        resource: Amount(_sum(amount.used for amount in amounts), _sum(amount.hard for amount in amounts))
        for resource, amounts in by_resource.items()
    }
    return _ordered(sums)


def measured_by_namespace(pods: Iterable[Manifest]) -> dict[str, MeasuredUsage]:
    """The measured usage of each namespace, from PodMetrics objects.

    Any program can serve the metrics API, so metrics may be invalid. Pods with invalid metrics are left out.
    """
    by_namespace: dict[str, list[MeasuredUsage]] = {}
    for pod in pods:
        with suppress(ValueError, ArithmeticError, AttributeError, KeyError, TypeError):
            containers = [
                _measured(container.get("usage") or {}) for container in pod.get("containers") or ()
            ]
            by_namespace.setdefault(pod["metadata"]["namespace"], []).extend(containers)
    return {namespace: total_measured(containers) for namespace, containers in by_namespace.items()}


def total_measured(parts: Iterable[MeasuredUsage]) -> MeasuredUsage:
    """The sum of the CPU and the sum of the memory of several measurements."""
    return MeasuredUsage(*(sum(column, Decimal()) for column in zip(*parts, strict=True)))


def is_significant_change(
    reported: MeasuredUsage | None, current: MeasuredUsage | None, reported_for_s: float
) -> bool:
    """Whether the current usage differs so much from the reported usage that the status must be written.

    Measured usage changes all the time, and small changes should not cause writes. A change is significant in
    these cases:

    - Either `reported` or `current` is None, but not both. None means that the usage is unknown.
    - The CPU or the memory changed by more than 50%.
    - The CPU or the memory changed by more than 10%, and the reported usage is at least 5 minutes old.

    A change of at most 10m of CPU or at most 16Mi of memory is never significant. `reported_for_s` is the age
    of the reported usage in seconds.
    """
    if reported is None or current is None:
        return reported is not current
    share = _SMALL_SHARE if reported_for_s >= _SMALL_CHANGE_AFTER_S else _LARGE_SHARE
    minimums = MeasuredUsage(Decimal("0.01"), 16 * _MEBI)
    return any(
        abs(new - old) > max(old * share, minimum)
        for old, new, minimum in zip(reported, current, minimums, strict=True)
    )


def _measured(usage: Manifest) -> MeasuredUsage:
    measured = MeasuredUsage(*(quantity_value(str(usage.get(name, "0"))) for name in MeasuredUsage._fields))
    if any(not 0 <= amount <= QUANTITY_MAX for amount in measured):
        raise ValueError(f"usage {usage} is negative or too large")
    return measured


def _ordered(amounts: Amounts) -> Amounts:
    return {resource: amounts[resource] for resource in REPORTED_KEYS if resource in amounts}


def _sum(amounts: Iterable[str]) -> str:
    texts = list(amounts)
    total = sum((quantity_value(text) for text in texts), Decimal())
    # The sum gets a binary suffix if one of the amounts has a binary suffix.
    is_binary = any(text.endswith("i") for text in texts)
    return canonical_quantity(f"{total / 1024:f}Ki" if is_binary else f"{total:f}")
