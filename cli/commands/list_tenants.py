"""`tenancy list`: prints a table with one row per tenant."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final

import typer
from rich.text import Text

from cli.completion import SelectorOption, TenantNames
from cli.connection import no_such_tenant
from cli.listing.formats import Cells, ListFormat, ListFormatOption, Tables, print_rows, row_stream
from cli.output import PHASE_STYLES, console, print_error
from cli.rights.reader import Reader
from cli.selection.tenants import check_not_both, resources_named
from cli.times import age
from cluster.live_objects import tenant_of
from tenancy.base.kinds import TENANTS, api_group
from tenancy.base.manifest import Manifest, ObjectKey, object_key
from tenancy.same_name_in_both_groups import is_duplicate, tenants_by_name
from tenancy.spec.tenant_status import Phase
from watcher.view import TenantRow, tenant_row


class Order(StrEnum):
    NAME = "name"
    PHASE = "phase"
    CPU = "cpu"
    MEMORY = "memory"


_COLUMNS: Final = ("NAME", "PHASE", "PLAN", "NAMESPACES", "CPU", "MEMORY", "PODS", "REASON")
_WIDE_COLUMNS: Final = ("AGE", "LAST UPDATE", "DISPLAY NAME", "MESSAGE")
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
            help="After the list, print a new row for each tenant that changes, until you press Ctrl-C. The "
            "phase Gone means that the tenant was deleted, or that it no longer matches the other options.",
        ),
    ] = False,
    output: ListFormatOption = ListFormat.TABLE,
) -> None:
    """List tenants with phase, plan, namespaces and quota usage.

    For a tenant that is not ready, the list also shows the reason. If both API groups (platform.ai and
    kleff.kleff.io) have Tenants, the list also shows the group of each Tenant. For the details of one tenant,
    run `tenancy show NAME`.

    If you pass names, the command lists only these tenants. The exit code is 1 if one of them does not exist.

    If you can read only Tenants, the list contains `-` instead of the quota usage, and a note lists the
    missing rights. In JSON and YAML, the field `missing` contains the missing rights.
    """
    check_not_both(names, selector)
    reader = Reader(context.obj)
    tenants, unknown_names = _selected(reader, names or [], selector)
    all_rows = rows_with_quotas(tenants, reader.quotas())

    def is_shown(row: TenantRow) -> bool:
        return plan in (None, row.plan) and phase in (None, row.phase)

    rows = sorted(filter(is_shown, all_rows), key=lambda row: (_SORT_KEYS[order](row), row.name))
    tables = list_tables(has_groups=uses_both_groups(all_rows))
    if is_watching:
        from cli.listing.watch import print_until_interrupted

        if unknown_names:
            raise no_such_tenant(unknown_names[0])
        scopes = [resource for name in names or () for resource in resources_named(name)]
        stream, cluster = row_stream(output, tables), reader.connection.cluster
        reader.print_missing()
        print_until_interrupted(cluster, rows, is_shown, stream, scopes=scopes, selector=selector)
        return
    if rows or output not in tables:
        print_rows(rows, output, tables, reader.missing)
    elif not unknown_names:
        console.print(_no_rows_text(is_filtered=bool(all_rows or selector)))
    for name in unknown_names:
        print_error(str(no_such_tenant(name)))
    reader.print_missing()
    raise typer.Exit(1 if unknown_names else 0)


def _selected(reader: Reader, names: Sequence[str], selector: str) -> tuple[list[Manifest], list[str]]:
    """The selected Tenants, and the names for which there is no Tenant.

    Without names and without a selector, all Tenants are selected. Raises MissingRight if the user cannot
    read Tenants.
    """
    tenants_by_text = {name: reader.named(name) for name in names}
    tenants = [tenant for named in tenants_by_text.values() for tenant in named]
    if not names:
        tenants = reader.tenants(selector)
    if not tenants and len(reader.missing) >= len(TENANTS):
        raise reader.error(reader.missing)
    return tenants, [name for name, named in tenants_by_text.items() if not named]


def _no_rows_text(*, is_filtered: bool) -> str:
    if is_filtered:
        return "No tenants match."
    return "There are no tenants. To create one, apply a manifest: tenancy apply -f examples/simple.yaml"


def rows_with_quotas(tenants: Iterable[Manifest], quotas: Iterable[Manifest]) -> list[TenantRow]:
    """One row per Tenant, with the usage of the tenant's ResourceQuotas.

    If an older Tenant has the same name, the ResourceQuotas belong to the older Tenant. The row of the newer
    Tenant then has no quotas.
    """
    quotas_by_tenant: dict[str, dict[ObjectKey, Manifest]] = {}
    for quota in quotas:
        quotas_by_tenant.setdefault(tenant_of(quota), {})[object_key(quota)] = quota
    manifests = list(tenants)
    by_name = tenants_by_name(manifests)
    return [
        tenant_row(
            tenant,
            {} if is_duplicate(tenant, by_name) else quotas_by_tenant.get(tenant["metadata"]["name"], {}),
        )
        for tenant in manifests
    ]


def _ratio(row: TenantRow, resource: str) -> float:
    return next((bar.ratio for bar in row.quotas if bar.resource == resource), 0.0)


def uses_both_groups(rows: Iterable[TenantRow]) -> bool:
    """Whether the rows contain Tenants of both API groups. If so, the table needs a column for the group."""
    return len({row.api_version for row in rows}) > 1


def list_tables(*, has_groups: bool) -> Tables:
    """The columns of the formats `table` and `wide`, and functions that return the cells of a row.

    If `has_groups` is true, the tables have a column with the API group.
    """
    name, *others = _COLUMNS
    columns = (name, "GROUP", *others) if has_groups else _COLUMNS

    def cells(row: TenantRow) -> Cells:
        first, *rest = _cells(row)
        return (first, api_group(row.api_version), *rest) if has_groups else (first, *rest)

    return {
        ListFormat.TABLE: (columns, cells),
        ListFormat.WIDE: ((*columns, *_WIDE_COLUMNS), lambda row: (*cells(row), *_wide_cells(row))),
    }


def _cells(row: TenantRow) -> Cells:
    bars = {bar.resource: f"{bar.used}/{bar.hard}" for bar in row.quotas}
    phase = Text(row.phase, style=PHASE_STYLES.get(row.phase, ""))
    quotas = (bars.get(resource, "-") for resource in ("cpu", "memory", "pods"))
    return row.name, phase, row.plan, str(row.namespaces), *quotas, _reasons(row)


def _reasons(row: TenantRow) -> str:
    """The text of the column REASON.

    If the tenant is not ready, the text contains the reason. It also contains the states of the tenant:
    Paused, NotApplied, Cordoned and Drifted.
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
    return age(datetime.fromisoformat(row.created)), update, row.display_name, row.message
