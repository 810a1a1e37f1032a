"""`tenancy list`: prints one line per tenant."""

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Annotated, Any, Final

import typer
from rich.text import Text

from cli.output import PHASE_STYLES, Format, FormatOption, console, print_data, print_table
from cli.reader import Reader
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


Cells = tuple[str | Text, ...]

_COLUMNS: Final = ("NAME", "PHASE", "PLAN", "NAMESPACES", "CPU", "MEMORY", "PODS", "REASON")
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

    For a tenant that is not ready, the list also shows the reason. If both API groups have Tenants, the list
    also shows the group of each Tenant. For the details of one tenant, run `tenancy show NAME`.

    With rights on Tenants only, the list shows `-` instead of the quota usage, and a note names the missing
    rights. JSON and YAML contain these rights in the field `missing`.
    """
    reader = Reader(context.obj)
    tenants = reader.tenants()
    if len(reader.missing) == len(TENANTS):
        raise reader.error(reader.missing)
    all_rows = rows_with_quotas(tenants, reader.quotas())
    rows = [row for row in all_rows if plan in (None, row.plan) and phase in (None, row.phase)]
    rows.sort(key=lambda row: (_SORT_KEYS[order](row), row.name))
    if output is not Format.TABLE:
        missing = {"missing": [str(right) for right in reader.missing]}
        print_data([{**row.model_dump(by_alias=True, mode="json"), **missing} for row in rows], output)
    elif not all_rows:
        console.print(
            "There are no tenants. To create one, apply a manifest: tenancy apply examples/simple.yaml"
        )
    elif not rows:
        console.print("No tenants match.")
    else:
        print_table(*columns_and_cells(rows, uses_both_groups(all_rows)))
    reader.print_missing()


def rows_with_quotas(tenants: Iterable[Manifest], quotas: Iterable[Manifest]) -> list[TenantRow]:
    """The rows of the tenants, with the usage of their ResourceQuotas.

    The row of a duplicate has no quotas, because the ResourceQuotas belong to the older Tenant.
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


def columns_and_cells(rows: Iterable[TenantRow], has_groups: bool) -> tuple[tuple[str, ...], list[Cells]]:
    """The columns and the cells of the table. If `has_groups` is true, the table shows the API groups."""
    cells = [(_cells(row), api_group(row.api_version)) for row in rows]
    if not has_groups:
        return _COLUMNS, [row for row, _ in cells]
    return (_COLUMNS[0], "GROUP", *_COLUMNS[1:]), [(row[0], group, *row[1:]) for row, group in cells]


def uses_both_groups(rows: Iterable[TenantRow]) -> bool:
    """Whether both API groups have Tenants. The table then shows the API groups."""
    return len({row.api_version for row in rows}) > 1


def _cells(row: TenantRow) -> Cells:
    bars = {bar.resource: f"{bar.used}/{bar.hard}" for bar in row.quotas}
    phase = Text(row.phase, style=PHASE_STYLES.get(row.phase, ""))
    quotas = (bars.get(resource, "-") for resource in ("cpu", "memory", "pods"))
    return row.name, phase, row.plan, str(row.namespaces), *quotas, _reasons(row)


def _reasons(row: TenantRow) -> str:
    """The text of the column REASON.

    The text is the reason why the tenant is not ready, and each of the states Paused, Cordoned and Drifted
    that the tenant has.
    """
    states = (("Paused", row.is_paused), ("Cordoned", row.is_cordoned), ("Drifted", row.is_drifted))
    active_states = [state for state, is_active in states if is_active and state != row.reason]
    return ", ".join([row.reason, *active_states] if row.reason else active_states)
