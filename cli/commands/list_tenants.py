"""`tenancy list`: prints one line per tenant."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final

import typer
from rich.text import Text

from cli.completion import SelectorOption, TenantNames
from cli.connection import Connection, no_such_tenant
from cli.listing.formats import Cells, ListFormat, ListFormatOption, Tables, print_rows, row_stream
from cli.output import PHASE_STYLES, console, print_error
from cli.selection.tenants import check_not_both, resources_named, tenants_named
from cli.times import age
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
    names: TenantNames = None,
    selector: SelectorOption = "",
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
    is_watching: Annotated[
        bool,
        typer.Option(
            "--watch",
            "-w",
            help="After the list, print each row that changes, until you press Ctrl-C. The phase Gone means "
            "that the tenant was deleted, or that it no longer matches the other options.",
        ),
    ] = False,
    output: ListFormatOption = ListFormat.TABLE,
) -> None:
    """List tenants with phase, plan, namespaces and quota usage.

    For a tenant that is not ready, the list also shows the reason. For the details of one tenant, run
    `tenancy show NAME`. With names, the list contains only these tenants. The exit code is 1 if one of them
    does not exist.
    """
    connection: Connection = context.obj
    tenants, missing = _selected(connection, names or [], selector)
    all_rows = rows_with_quotas(tenants, read_quotas(connection.cluster))

    def is_shown(row: TenantRow) -> bool:
        return plan in (None, row.plan) and phase in (None, row.phase)

    rows = sorted(filter(is_shown, all_rows), key=lambda row: (_SORT_KEYS[order](row), row.name))
    if is_watching:
        from cli.listing.watch import print_until_interrupted

        if missing:
            raise no_such_tenant(missing[0])
        scopes = [resource for name in names or () for resource in resources_named(name)]
        stream = row_stream(output, _TABLES)
        print_until_interrupted(connection.cluster, rows, is_shown, stream, scopes=scopes, selector=selector)
        return
    if rows or output not in _TABLES:
        print_rows(rows, output, _TABLES)
    elif not missing:
        console.print(_no_rows_text(is_filtered=bool(all_rows or selector)))
    for name in missing:
        print_error(str(no_such_tenant(name)))
    raise typer.Exit(1 if missing else 0)


def _selected(
    connection: Connection, names: Sequence[str], selector: str
) -> tuple[list[Manifest], list[str]]:
    """The selected Tenants, and the names that do not exist. Without names and selector, all Tenants."""
    check_not_both(names, selector)
    if not names:
        return read_tenants(connection.cluster, selector), []
    found = {name: tenants_named(connection, name) for name in names}
    return [tenant for tenants in found.values() for tenant in tenants], [
        name for name, tenants in found.items() if not tenants
    ]


def _no_rows_text(*, is_filtered: bool) -> str:
    if is_filtered:
        return "No tenants match."
    return "There are no tenants. To create one, apply a manifest: tenancy apply -f examples/simple.yaml"


def rows_with_quotas(tenants: Iterable[Manifest], quotas: Iterable[Manifest]) -> list[TenantRow]:
    """The rows of the tenants, with the usage of their ResourceQuotas."""
    quotas_by_tenant: dict[str, dict[ObjectKey, Manifest]] = {}
    for quota in quotas:
        quotas_by_tenant.setdefault(tenant_of(quota), {})[object_key(quota)] = quota
    return [tenant_row(tenant, quotas_by_tenant.get(tenant["metadata"]["name"], {})) for tenant in tenants]


def _ratio(row: TenantRow, resource: str) -> float:
    return next((bar.ratio for bar in row.quotas if bar.resource == resource), 0.0)


def tenant_cells(row: TenantRow) -> Cells:
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


def _wide_cells(row: TenantRow) -> Cells:
    last = row.last_update or {}
    update = f"{last.get('version', '-')}, {last.get('result', '-')}" if last else "-"
    created = age(datetime.fromisoformat(row.created))
    return *tenant_cells(row), created, update, row.display_name, row.message


_TABLES: Final[Tables] = {
    ListFormat.TABLE: (TENANT_COLUMNS, tenant_cells),
    ListFormat.WIDE: ((*TENANT_COLUMNS, "AGE", "LAST UPDATE", "DISPLAY NAME", "MESSAGE"), _wide_cells),
}
