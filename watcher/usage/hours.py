"""Quota-hours and used-hours as they are told: rows with units, and their sums. Pure.

The store counts the hours; the page and `tenancy usage` tell them.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final, NamedTuple

from tenancy.base.model import Model

_GIB: Final = 2**30
# What an hour of a resource is called, and how much of it is one.
_UNITS: Final = {
    "cpu": ("CPU-hours", 1),
    "memory": ("GiB-hours", _GIB),
    "storage": ("GiB-hours", _GIB),
    "pods": ("pod-hours", 1),
}


class Series(NamedTuple):
    """What a figure is of."""

    tenant: str
    namespace: str
    resource: str


class Hours(NamedTuple):
    used: float = 0.0
    hard: float = 0.0
    # For how long there are figures at all.
    recorded: float = 0.0


class UsageRow(Model):
    """What a namespace, or a whole tenant, had and used of a resource."""

    tenant: str
    # Empty in the sum over all namespaces of a tenant.
    namespace: str = ""
    resource: str
    unit: str
    quota_hours: float
    used_hours: float
    recorded_hours: float


class UsageReport(Model):
    """What was had and used between two times, by tenant, namespace and resource."""

    since: datetime
    until: datetime
    rows: tuple[UsageRow, ...]


def usage_row(series: Series, hours: Hours) -> UsageRow:
    unit, size = _UNITS[series.resource]
    return UsageRow(
        tenant=series.tenant,
        namespace=series.namespace,
        resource=series.resource,
        unit=unit,
        quota_hours=round(hours.hard / size, 4),
        used_hours=round(hours.used / size, 4),
        recorded_hours=round(hours.recorded, 4),
    )


def tenant_rows(rows: Iterable[UsageRow]) -> list[UsageRow]:
    """The sums over the namespaces of each tenant, in the order in which the rows come."""
    sums: dict[tuple[str, str], UsageRow] = {}
    for row in rows:
        known = sums.get((row.tenant, row.resource))
        change = {
            "namespace": "",
            "quota_hours": row.quota_hours + (known.quota_hours if known else 0.0),
            "used_hours": row.used_hours + (known.used_hours if known else 0.0),
            # Namespaces are recorded side by side: their times do not add up.
            "recorded_hours": max(row.recorded_hours, known.recorded_hours if known else 0.0),
        }
        sums[row.tenant, row.resource] = row.model_copy(update=change)
    return list(sums.values())
