"""`tenancy list`: prints one line per tenant."""

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Annotated, Any, Final

import typer
from rich.text import Text

from cli.connection import Connection
from cli.output import PHASE_STYLES, Format, FormatOption, console, print_data, print_table
from cluster.live_objects import tenant_of
from cluster.tenants import read_quotas, read_tenants
from tenancy.base.manifest import Manifest, ObjectKey, object_key
from tenancy.spec.tenant_status import Phase
from watcher.view import TenantRow, tenant_row


class Order(StrEnum):
    NAME = "name"
    PHASE = "phase"
    CPU = "cpu"
    MEMORY = "memory"


TENANT_COLUMNS: Final = ("NAME", "PHASE", "PLAN", "NAMESPACES", "CPU", "MEMORY", "PODS", "REASON")
# The order of phases in the list. Phases that need attention come first.
_PHASE_ORDER: Final = (Phase.FAILED, Phase.TERMINATING, Phase.PENDING, Phase.ACTIVE)
_SORT_KEYS: Final[dict[Order, Callable[[TenantRow], Any]]] = {
    Order.NAME: lambda row: row.name,
    Order.PHASE: lambda row: _PHASE_ORDER.index(Phase(row.phase)),
    Order.CPU: lambda row: -_ratio(row, "cpu"),
    Order.MEMORY: lambda row: -_ratio(row, "memory"),
}


def list_tenants(
    context: typer.Context,
    plan: Annotated[str | None, typer.Option(help="List only tenants with this plan.")] = None,
    phase: Annotated[
        Phase | None, typer.Option(case_sensitive=False, help="List only tenants in this phase.")
    ] = None,
    order: Annotated[
        Order,
        typer.Option(
            "--sort",
            help="The sort order. `phase` lists failed tenants first. `cpu` and `memory` list tenants with "
            "the highest quota usage first.",
        ),
    ] = Order.NAME,
    output: FormatOption = Format.TABLE,
) -> None:
    """List tenants with phase, plan, namespaces and quota usage.

    For a tenant that is not ready, the list also shows the reason. For the details of one tenant, run
    `tenancy show NAME`.
    """
    connection: Connection = context.obj
    all_rows = rows_with_quotas(read_tenants(connection.cluster), read_quotas(connection.cluster))
    rows = [row for row in all_rows if plan in (None, row.plan) and phase in (None, row.phase)]
    rows.sort(key=lambda row: (_SORT_KEYS[order](row), row.name))
    if output is not Format.TABLE:
        print_data([row.model_dump(by_alias=True, mode="json") for row in rows], output)
    elif not all_rows:
        console.print(
            "There are no tenants. To create one, apply a manifest: tenancy apply examples/simple.yaml"
        )
    elif not rows:
        console.print("No tenants match.")
    else:
        print_table(TENANT_COLUMNS, map(tenant_cells, rows))


def rows_with_quotas(tenants: Iterable[Manifest], quotas: Iterable[Manifest]) -> list[TenantRow]:
    """The rows of the tenants, with the usage of their ResourceQuotas."""
    quotas_by_tenant: dict[str, dict[ObjectKey, Manifest]] = {}
    for quota in quotas:
        quotas_by_tenant.setdefault(tenant_of(quota), {})[object_key(quota)] = quota
    return [tenant_row(tenant, quotas_by_tenant.get(tenant["metadata"]["name"], {})) for tenant in tenants]


def _ratio(row: TenantRow, resource: str) -> float:
    return next((bar.ratio for bar in row.quotas if bar.resource == resource), 0.0)


def tenant_cells(row: TenantRow) -> tuple[str | Text, ...]:
    bars = {bar.resource: f"{bar.used}/{bar.hard}" for bar in row.quotas}
    phase = Text(row.phase, style=PHASE_STYLES.get(row.phase, ""))
    quotas = (bars.get(resource, "-") for resource in ("cpu", "memory", "pods"))
    return row.name, phase, row.plan, str(row.namespaces), *quotas, _reasons(row)


def _reasons(row: TenantRow) -> str:
    """The text of the column REASON.

    The text is the reason why the tenant is not ready, and each of the states Paused, NotApplied, Cordoned
    and Drifted that the tenant has.
    """
    states = (
        ("Paused", row.is_paused),
        ("NotApplied", row.is_held_back),
        ("Cordoned", row.is_cordoned),
        ("Drifted", row.is_drifted),
    )
    active_states = [state for state, is_active in states if is_active and state != row.reason]
    return ", ".join([row.reason, *active_states] if row.reason else active_states)
