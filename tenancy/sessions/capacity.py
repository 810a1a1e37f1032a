"""Checks whether the ResourceQuotas of a namespace allow one more session.

Some quotas have a scope that only the API server can evaluate, such as a priority class. This module does not
check these quotas.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from tenancy.base.manifest import Manifest
from tenancy.base.quantity import quantity_value
from tenancy.base.quota_keys import CPU_KEYS, JOB_KEYS, MEMORY_KEYS, POD_KEYS
from tenancy.spec.aisession import AISessionSpec

# The amounts that one or more sessions use. The keys are keys of a ResourceQuota, such as `limits.cpu`.
Demand = Mapping[str, Decimal]

# The quota scopes that match the pod of a session. The pod has resource requests, and it has no
# `activeDeadlineSeconds`. Only its Job has this field.
_SCOPES: Final = frozenset({"NotTerminating", "NotBestEffort"})


@dataclass(frozen=True)
class Shortage:
    """A quota that does not allow one more session, and the resource that would exceed the quota."""

    quota: str
    resource: str
    requested: str
    hard: str
    # Whether the session would exceed the quota even if the namespace were empty.
    can_never_fit: bool

    @property
    def message(self) -> str:
        if self.can_never_fit:
            return (
                f"quota {self.quota} allows {self.hard} of {self.resource}, but the session requests "
                f"{self.requested}: request less, or ask for a larger quota"
            )
        return (
            f"quota {self.quota} has less than {self.requested} of {self.resource} left; "
            f"its limit is {self.hard}"
        )


def session_demand(spec: AISessionSpec) -> dict[str, Decimal]:
    cpu, memory = (quantity_value(text) for text in (spec.resources.cpu, spec.resources.memory))
    one = Decimal(1)
    return {
        **dict.fromkeys(CPU_KEYS, cpu),
        **dict.fromkeys(MEMORY_KEYS, memory),
        **dict.fromkeys((*POD_KEYS, *JOB_KEYS), one),
    }


def total_demand(demands: Iterable[Demand]) -> dict[str, Decimal]:
    total: dict[str, Decimal] = {}
    for demand in demands:
        for resource, amount in demand.items():
            total[resource] = total.get(resource, Decimal(0)) + amount
    return total


def shortage(quotas: Iterable[Manifest], demand: Demand, reserved: Demand) -> Shortage | None:
    """The first quota that does not allow a session with this demand. None if all quotas allow the session.

    Kubernetes updates the status of a quota with a delay. So the status can lack sessions that have just
    started. `reserved` is the demand of these sessions.
    """
    for quota in quotas:
        if not _applies_to_sessions(quota):
            continue
        status = quota.get("status") or {}
        hard, used = status.get("hard") or {}, status.get("used") or {}
        for resource in quota["spec"].get("hard") or {}:
            if resource not in demand:
                continue
            # If the status of the quota does not contain the resource yet, the API server rejects the pod. A
            # limit of 0 has the same effect here.
            limit = hard.get(resource, "0")
            taken = quantity_value(used.get(resource, "0")) + reserved.get(resource, Decimal(0))
            if taken + demand[resource] > quantity_value(limit):
                return Shortage(
                    quota["metadata"]["name"],
                    resource,
                    _quantity_text(demand[resource]),
                    limit,
                    can_never_fit=resource in hard and demand[resource] > quantity_value(limit),
                )
    return None


def _applies_to_sessions(quota: Manifest) -> bool:
    spec = quota["spec"]
    return not spec.get("scopeSelector") and set(spec.get("scopes") or ()) <= _SCOPES


def _quantity_text(amount: Decimal) -> str:
    """The amount as a short Kubernetes quantity, for example 500m, 2 or 1Gi."""
    if amount != amount.to_integral_value():
        return f"{(amount * 1000).normalize():f}m"
    for suffix, size in (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
        if amount >= size and amount % size == 0:
            return f"{int(amount / size)}{suffix}"
    return str(int(amount))
