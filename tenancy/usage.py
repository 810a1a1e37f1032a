"""What a tenant uses, by namespace and in all: the one place where these figures are summed up. Pure.

Read by the status, the metrics, the page, `tenancy show` and the record of use over time. Figures of quotas
come from the live ResourceQuotas; CPU and memory in use from the pods' metrics, where the cluster has them.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from decimal import ROUND_UP, Decimal
from typing import Final, NamedTuple

from tenancy.base.kinds import RESOURCE_QUOTA
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.base.quantity import QUANTITY_MAX, canonical_quantity, quantity_value

# What is told of a namespace's quotas, and the keys that stand for it there, the first one found.
FIGURES: Final = {
    "cpu": ("requests.cpu", "cpu"),
    "memory": ("requests.memory", "memory"),
    "storage": ("requests.storage",),
    "pods": ("pods",),
}
_MILLI: Final = Decimal("0.001")
_MEBI: Final = Decimal(2**20)
_LITTLE: Final = Decimal("0.1")
_MUCH: Final = Decimal("0.5")
_WHILE_S: Final = 300.0


class Amount(NamedTuple):
    """What is used of a quota, and what it allows, as quantities."""

    used: str
    hard: str

    @property
    def ratio(self) -> float:
        """0 where nothing is allowed."""
        limit = quantity_value(self.hard)
        return round(float(quantity_value(self.used) / limit), 4) if limit else 0.0


# By resource, in the order of FIGURES.
Amounts = dict[str, Amount]


class Measured(NamedTuple):
    """What containers really use: CPUs and bytes."""

    cpu: Decimal = Decimal()
    memory: Decimal = Decimal()

    @property
    def cpu_text(self) -> str:
        return canonical_quantity(f"{self.cpu.quantize(_MILLI, ROUND_UP):f}")

    @property
    def memory_text(self) -> str:
        return canonical_quantity(f"{(self.memory / _MEBI).to_integral_value(ROUND_UP):f}Mi")


def namespace_amounts(live: Mapping[ObjectKey, Manifest]) -> dict[str, Amounts]:
    """Used and hard by namespace. Of several quotas in one, the tightest counts; a quota with scopes counts
    some of the pods only, and so says nothing of the whole."""
    found: dict[str, Amounts] = {}
    for key in sorted(key for key in live if key.kind == RESOURCE_QUOTA.key):
        quota = live[key]
        if quota["spec"].keys() & {"scopes", "scopeSelector"}:
            continue
        hard, used = quota["spec"].get("hard") or {}, (quota.get("status") or {}).get("used") or {}
        known = found.setdefault(key.namespace, {})
        for resource, names in FIGURES.items():
            name = next((name for name in names if name in hard), None)
            if name is None:
                continue
            amount = Amount(used.get(name, "0"), hard[name])
            if resource not in known or quantity_value(amount.hard) < quantity_value(known[resource].hard):
                known[resource] = amount
    return {namespace: _ordered(amounts) for namespace, amounts in found.items()}


def total_amounts(namespaces: Iterable[Amounts]) -> Amounts:
    """The sums over several namespaces."""
    columns: dict[str, list[Amount]] = {}
    for amounts in namespaces:
        for resource, amount in amounts.items():
            columns.setdefault(resource, []).append(amount)
    sums = {
        resource: Amount(_sum(found.used for found in column), _sum(found.hard for found in column))
        for resource, column in columns.items()
    }
    return _ordered(sums)


def measured_by_namespace(pods: Iterable[Manifest]) -> dict[str, Measured]:
    """What the containers use, from the PodMetrics of all namespaces. A pod whose figures are none is left
    out: anybody may serve them."""
    found: dict[str, list[Measured]] = {}
    for pod in pods:
        with suppress(ValueError, ArithmeticError, AttributeError, KeyError, TypeError):
            containers = [
                _measured(container.get("usage") or {}) for container in pod.get("containers") or ()
            ]
            found.setdefault(pod["metadata"]["namespace"], []).extend(containers)
    return {namespace: total_measured(containers) for namespace, containers in found.items()}


def total_measured(parts: Iterable[Measured]) -> Measured:
    return Measured(*(sum(column, Decimal()) for column in zip(*parts, strict=True)))


def is_news(told: Measured | None, now: Measured | None, told_for_s: float) -> bool:
    """Whether figures are so far from those told last that they are worth telling: by more than half at once,
    by more than a tenth when those have stood for a while. Use trembles, and each telling is a write."""
    if told is None or now is None:
        return told is not now
    share, floors = _LITTLE if told_for_s >= _WHILE_S else _MUCH, Measured(Decimal("0.01"), 16 * _MEBI)
    return any(
        abs(new - old) > max(old * share, floor) for old, new, floor in zip(told, now, floors, strict=True)
    )


def _measured(usage: Manifest) -> Measured:
    found = Measured(*(quantity_value(str(usage.get(name, "0"))) for name in Measured._fields))
    if any(not 0 <= amount <= QUANTITY_MAX for amount in found):
        raise ValueError(f"{usage} is more than there can be, or less than nothing")
    return found


def _ordered(amounts: Amounts) -> Amounts:
    return {resource: amounts[resource] for resource in FIGURES if resource in amounts}


def _sum(amounts: Iterable[str]) -> str:
    texts = list(amounts)
    total = sum((quantity_value(text) for text in texts), Decimal())
    # Bytes are read in powers of two where one of them is written so.
    is_binary = any(text.endswith("i") for text in texts)
    return canonical_quantity(f"{total / 1024:f}Ki" if is_binary else f"{total:f}")
