"""`tenancy list`: all tenants at a glance."""

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any, Final

import typer
from rich.text import Text

from cli.connection import Connection
from cli.output import PHASE_STYLES, Format, FormatOption, console, print_data, print_table
from cluster.tenants import read_tenants
from tenancy.spec.tenant_status import Phase
from watcher.view import TenantRow, tenant_row


class Order(StrEnum):
    NAME = "name"
    PHASE = "phase"
    CPU = "cpu"
    MEMORY = "memory"


# What needs a look comes first.
_PHASES: Final = (Phase.FAILED, Phase.TERMINATING, Phase.PENDING, Phase.ACTIVE)
_ORDERS: Final[dict[Order, Callable[[TenantRow], Any]]] = {
    Order.NAME: lambda row: row.name,
    Order.PHASE: lambda row: _PHASES.index(Phase(row.phase)),
    Order.CPU: lambda row: -_ratio(row, "cpu"),
    Order.MEMORY: lambda row: -_ratio(row, "memory"),
}


def list_tenants(
    context: typer.Context,
    plan: Annotated[str | None, typer.Option(help="Only tenants on this plan.")] = None,
    phase: Annotated[
        Phase | None, typer.Option(case_sensitive=False, help="Only tenants in this phase.")
    ] = None,
    order: Annotated[
        Order, typer.Option("--sort", help="By phase: failed first. By cpu, memory: the fullest quota first.")
    ] = Order.NAME,
    output: FormatOption = Format.TABLE,
) -> None:
    """List all tenants: phase, plan, what they use of their quota, and what is wrong."""
    connection: Connection = context.obj
    live = connection.live_objects_by_tenant()
    every = [
        tenant_row(tenant, live.get(tenant["metadata"]["name"], {}))
        for tenant in read_tenants(connection.cluster)
    ]
    rows = [row for row in every if plan in (None, row.plan) and phase in (None, row.phase)]
    rows.sort(key=lambda row: (_ORDERS[order](row), row.name))
    if output is not Format.TABLE:
        print_data([row.model_dump(by_alias=True, mode="json") for row in rows], output)
    elif not every:
        console.print("There are no tenants. Write one and `tenancy apply` it: see examples/simple.yaml.")
    elif not rows:
        console.print("No tenant is like that.")
    else:
        print_table(
            ("NAME", "PHASE", "PLAN", "NAMESPACES", "CPU", "MEMORY", "PODS", "WHY"), map(_cells, rows)
        )


def _ratio(row: TenantRow, resource: str) -> float:
    return next((bar.ratio for bar in row.quotas if bar.resource == resource), 0.0)


def _cells(row: TenantRow) -> tuple[str | Text, ...]:
    bars = {bar.resource: f"{bar.used}/{bar.hard}" for bar in row.quotas}
    phase = Text(row.phase, style=PHASE_STYLES.get(row.phase, ""))
    figures = (bars.get(resource, "-") for resource in ("cpu", "memory", "pods"))
    return row.name, phase, row.plan, str(row.namespaces), *figures, _why(row)


def _why(row: TenantRow) -> str:
    """What is wrong, and what holds the tenant though all is well."""
    states = (("Paused", row.is_paused), ("Cordoned", row.is_cordoned), ("Drifted", row.is_drifted))
    held = [state for state, holds in states if holds and state != row.reason]
    return ", ".join([row.reason, *held] if row.reason else held)
