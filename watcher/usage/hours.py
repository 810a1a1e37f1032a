"""The rows of usage reports, with their units. No I/O.

Quota-hours are the hard limit of a ResourceQuota multiplied by the time in hours. Used-hours are the used
amount multiplied by the time in hours. For example, 2 CPUs for 3 hours are 6 CPU-hours.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final, NamedTuple

from tenancy.base.model import Model

_GIB: Final = 2**30
# For each resource: the unit in reports, and the number of CPUs, bytes or pods in one unit.
_UNITS: Final = {
    "cpu": ("CPU-hours", 1),
    "memory": ("GiB-hours", _GIB),
    "storage": ("GiB-hours", _GIB),
    "pods": ("pod-hours", 1),
}


class Series(NamedTuple):
    """Identifies a time series: the recorded amounts of one resource in one namespace of a tenant."""

    tenant: str
    namespace: str
    resource: str


class Hours(NamedTuple):
    """The used-hours (`used`) and quota-hours (`hard`) of a series, in CPU-hours, byte-hours or pod-hours."""

    used: float = 0.0
    hard: float = 0.0
    # The number of hours for which amounts are recorded. For example, none are recorded while the watcher is
    # stopped.
    recorded: float = 0.0


class UsageRow(Model):
    """The quota-hours and used-hours of one resource, in one namespace or in the whole tenant."""

    tenant: str
    # Empty if the row is the sum over all namespaces of the tenant.
    namespace: str = ""
    resource: str
    unit: str
    quota_hours: float
    used_hours: float
    recorded_hours: float


class UsageReport(Model):
    """The quota-hours and used-hours between two times, with one row for each namespace and resource."""

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
    """One row for each tenant and resource, with the sums over the tenant's namespaces.

    The result is in the order in which each tenant and resource first occurs in `rows`.
    """
    sums: dict[tuple[str, str], UsageRow] = {}
    for row in rows:
        total = sums.get((row.tenant, row.resource))
        change = {
            "namespace": "",
            "quota_hours": row.quota_hours + (total.quota_hours if total else 0.0),
            "used_hours": row.used_hours + (total.used_hours if total else 0.0),
            # All namespaces are recorded at the same times, so their recorded hours must not be added.
            "recorded_hours": max(row.recorded_hours, total.recorded_hours if total else 0.0),
        }
        sums[row.tenant, row.resource] = row.model_copy(update=change)
    return list(sums.values())
