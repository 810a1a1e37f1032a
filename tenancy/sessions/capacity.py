"""Whether the quotas of a namespace have room for one more session.

Called before a Job is made, with the quotas as they are. Quotas that the API server alone can judge, such as
those of a priority class, are left to it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from tenancy.base.manifest import Manifest
from tenancy.base.quantity import quantity_value
from tenancy.spec.aisession import AISessionSpec

# What a session asks for, by resource as quotas name it.
Ask = Mapping[str, Decimal]

JOBS: Final = "count/jobs.batch"
# Those that hold for a session's pod too: it has no deadline of its own, and it has requests.
_SCOPES: Final = frozenset({"NotTerminating", "NotBestEffort"})


@dataclass(frozen=True)
class Shortage:
    """The first quota without room."""

    quota: str
    resource: str
    asked: str
    hard: str
    # Whether there would be no room in an empty namespace either.
    is_hopeless: bool

    @property
    def message(self) -> str:
        told = f"quota {self.quota} has no room for {self.resource} {self.asked}; it allows {self.hard}"
        if self.is_hopeless:
            return f"{told} in all: ask for less, or have the quota raised"
        return f"{told}, and the rest is in use"


def session_ask(spec: AISessionSpec) -> dict[str, Decimal]:
    cpu, memory = (quantity_value(text) for text in (spec.resources.cpu, spec.resources.memory))
    one = Decimal(1)
    return {
        **dict.fromkeys(("cpu", "requests.cpu", "limits.cpu"), cpu),
        **dict.fromkeys(("memory", "requests.memory", "limits.memory"), memory),
        **dict.fromkeys(("pods", "count/pods", JOBS), one),
    }


def sum_of(asks: Iterable[Ask]) -> dict[str, Decimal]:
    total: dict[str, Decimal] = {}
    for ask in asks:
        for resource, amount in ask.items():
            total[resource] = total.get(resource, Decimal(0)) + amount
    return total


def shortage(quotas: Iterable[Manifest], ask: Ask, promised: Ask) -> Shortage | None:
    """`promised` is what goes to sessions that have started, but are in no quota's figures yet."""
    for quota in quotas:
        if not _concerns_sessions(quota):
            continue
        status = quota.get("status") or {}
        hard, used = status.get("hard") or {}, status.get("used") or {}
        for resource in quota["spec"].get("hard") or {}:
            if resource not in ask:
                continue
            # Without figures yet, the API server would refuse the pod.
            limit = hard.get(resource, "0")
            taken = quantity_value(used.get(resource, "0")) + promised.get(resource, Decimal(0))
            if taken + ask[resource] > quantity_value(limit):
                return Shortage(
                    quota["metadata"]["name"],
                    resource,
                    _text(ask[resource]),
                    limit,
                    is_hopeless=resource in hard and ask[resource] > quantity_value(limit),
                )
    return None


def _concerns_sessions(quota: Manifest) -> bool:
    spec = quota["spec"]
    return not spec.get("scopeSelector") and set(spec.get("scopes") or ()) <= _SCOPES


def _text(amount: Decimal) -> str:
    """As people write it: 500m, 2, 1Gi."""
    if amount != amount.to_integral_value():
        return f"{(amount * 1000).normalize():f}m"
    for suffix, size in (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
        if amount >= size and amount % size == 0:
            return f"{int(amount / size)}{suffix}"
    return str(int(amount))
