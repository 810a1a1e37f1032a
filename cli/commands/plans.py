"""`tenancy plans`: shows the plans that the watcher uses, and previews the effect of a new plans file.

`tenancy plans impact` previews each live tenant twice: with the current plans, and with the new plans. If
both previews show the same changes, the new plans do not affect the tenant. The changes then have another
cause, such as drift.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.connection import Connection
from cli.manifests.read import ManifestSet, TenantDocument
from cli.manifests.yaml_lines import field_line
from cli.output import Format, FormatOption, error_console, print_data, print_table
from cli.plan_details import plan_data, print_plan
from cli.preview.compare import Comparison
from cli.preview.comparison_base import Base, read_live
from cli.preview.exit_code import exit_code
from cli.preview.formats.render import (
    OldFormatOption,
    OutputFileOption,
    PreviewFormat,
    PreviewFormatOption,
    write_preview,
)
from cli.preview.result import Outcome, Preview, TenantPreview
from cli.rights.reader import Reader
from cluster.tenants import read_tenants
from tenancy.base.errors import TenancyError
from tenancy.base.manifest import is_deleting
from tenancy.base.model import Model
from tenancy.base.quantity import quantity_value
from tenancy.base.quota_keys import REPORTED_KEYS
from tenancy.plans import Plan, Plans, read_plans
from tenancy.spec.settings import PodSecurity

app = typer.Typer(rich_markup_mode="markdown", add_completion=False)


class NoSuchPlan(TenancyError):
    reason = "NoSuchPlan"


class PlanRow(Model):
    name: str
    max_namespaces: int
    # The smallest limit of each resource, because several quotas can limit the same resource.
    quotas: dict[str, str]
    pod_security: str
    network: dict[str, Any]
    tenants: tuple[str, ...]


@app.callback(invoke_without_command=True)
def list_plans(context: typer.Context, output: FormatOption = Format.TABLE) -> None:
    """List the plans with their quotas per namespace, their other limits, and the number of their tenants.

    The plans come from the ConfigMap tenancy-system/tenancy-plans. If there is no such ConfigMap, the command
    lists the shipped plans.
    """
    if context.invoked_subcommand is not None:
        return
    connection: Connection = context.obj
    tenants_by_plan = _tenants_by_plan(connection)
    rows = [
        _row(name, plan, tenants_by_plan)
        for name, plan in sorted(Reader(connection).required_plans().plans.items())
    ]
    if output is not Format.TABLE:
        print_data([row.model_dump(by_alias=True, mode="json") for row in rows], output)
        return
    print_table(
        ("PLAN", "CPU", "MEMORY", "STORAGE", "PODS", "NAMESPACES", "POD SECURITY", "NETWORK", "TENANTS"),
        map(_cells, rows),
    )


@app.command("show")
def show_plan(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the plan.")],
    output: FormatOption = Format.TABLE,
) -> None:
    """Show all settings of a plan, and the types and models of AI sessions.

    If the plan does not set a setting, the command shows the default value of this setting. The types and
    models of AI sessions are the same for all plans.
    """
    connection: Connection = context.obj
    plans = Reader(connection).required_plans()
    if name not in plans.plans:
        raise NoSuchPlan(f"there is no plan {name!r}; known: {', '.join(sorted(plans.plans))}")
    tenants = sorted(_tenants_by_plan(connection).get(name, ()))
    if output is Format.TABLE:
        print_plan(name, plans, tenants)
    else:
        print_data(plan_data(name, plans, tenants), output)


@app.command("impact")
def show_impact(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="NEW.yaml", help="The new plans file.")],
    output: PreviewFormatOption = PreviewFormat.TABLE,
    old_output: OldFormatOption = None,
    output_file: OutputFileOption = None,
) -> None:
    """Show which tenants in the cluster would change with a new plans file, and the changes to each tenant.

    The exit code is 0 if no tenant would change, and 2 if tenants would change. It is 1 after an error, for
    example if the new file does not contain the plan of a tenant.
    """
    connection: Connection = context.obj
    new = read_plans(file)
    with error_console.status("reading…"):
        impact = _impact(read_live(connection), Reader(connection).required_plans(), new, file)
    write_preview(impact, old_output or output, output_file, default_file=file.as_posix())
    raise typer.Exit(exit_code(impact))


def _impact(base: Base, old: Plans, new: Plans, file: Path) -> Preview:
    text = file.read_text(encoding="utf-8")
    manifests = ManifestSet(
        tuple(
            TenantDocument(tenant, file.as_posix(), field_line(text, f"plans.{tenant['spec']['plan']}"))
            for tenant in base.tenants.values()
            if not is_deleting(tenant)
        ),
        faults=(),
        others=0,
    )
    with_old, with_new = (
        Comparison(plans, base).preview(manifests, is_complete=False) for plans in (old, new)
    )
    by_name = {preview.name: preview for preview in with_old.tenants}
    return with_new.model_copy(
        update={
            "tenants": tuple(_plan_effect(by_name[preview.name], preview) for preview in with_new.tenants)
        }
    )


def _plan_effect(with_old: TenantPreview, with_new: TenantPreview) -> TenantPreview:
    """The effect of the new plans on a tenant.

    `with_old` is the preview of the tenant with the old plans, and `with_new` is the preview with the new
    plans. The result is `with_new`. If both previews are equal, the result is a preview without changes.
    """
    old_rules, new_rules = (
        [finding.rule for finding in preview.findings] for preview in (with_old, with_new)
    )
    is_same = (
        with_old.changes == with_new.changes
        and with_old.outcome is with_new.outcome
        and old_rules == new_rules
    )
    unchanged = {"outcome": Outcome.UNCHANGED, "changes": (), "new_objects": (), "findings": ()}
    return with_new.model_copy(update=unchanged) if is_same else with_new


def _tenants_by_plan(connection: Connection) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for tenant in read_tenants(connection.cluster):
        names.setdefault(tenant["spec"]["plan"], []).append(tenant["metadata"]["name"])
    return names


def _row(name: str, plan: Plan, tenants_by_plan: Mapping[str, list[str]]) -> PlanRow:
    network = plan.network.model_dump(by_alias=True, mode="json", exclude_none=True) if plan.network else {}
    return PlanRow(
        name=name,
        max_namespaces=plan.max_namespaces,
        quotas=_tightest_limits(plan),
        pod_security=(plan.pod_security or PodSecurity.RESTRICTED).value,
        network=network,
        tenants=tuple(sorted(tenants_by_plan.get(name, ()))),
    )


def _tightest_limits(plan: Plan) -> dict[str, str]:
    limits = sorted(
        ((resource, limit) for quota in plan.quotas for resource, limit in quota.hard.items()),
        key=lambda pair: -quantity_value(pair[1]),
    )
    # dict() keeps the last value of each key, which is the smallest limit.
    return dict(limits)


def _cells(row: PlanRow) -> tuple[str, ...]:
    def limit(*resources: str) -> str:
        return next((row.quotas[resource] for resource in resources if resource in row.quotas), "-")

    return (
        row.name,
        *(limit(*keys) for keys in REPORTED_KEYS.values()),
        str(row.max_namespaces),
        row.pod_security,
        ", ".join(row.network) or "-",
        str(len(row.tenants)),
    )
