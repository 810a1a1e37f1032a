"""`tenancy plans`: the plans in force, and what another version of them would change.

The impact is a preview of all live tenants with the new plans, less what would change without them too.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.connection import Connection
from cli.manifests import ManifestSet, TenantDocument
from cli.output import Format, FormatOption, error_console, print_data, print_table
from cli.preview.compare import Comparison
from cli.preview.comparison_base import Base, read_live
from cli.preview.formats.render import OutputFileOption, PreviewFormat, PreviewFormatOption, write_preview
from cli.preview.result import Outcome, Preview, TenantPreview
from cli.yaml_lines import field_line
from cluster.tenants import is_deleting, read_tenants
from tenancy.base.model import Model
from tenancy.base.quantity import quantity_value
from tenancy.plans import Plan, Plans, read_plans
from tenancy.spec.settings import PodSecurity

app = typer.Typer(rich_markup_mode="markdown")


class PlanRow(Model):
    name: str
    max_namespaces: int
    # By resource; where several quotas have one, the tightest.
    quotas: dict[str, str]
    pod_security: str
    network: dict[str, Any]
    tenants: tuple[str, ...]


@app.callback(invoke_without_command=True)
def list_plans(context: typer.Context, output: FormatOption = Format.TABLE) -> None:
    """List the plans in force: what each gives to a namespace, and which tenants are on it."""
    if context.invoked_subcommand is not None:
        return
    connection: Connection = context.obj
    users: dict[str, list[str]] = {}
    for tenant in read_tenants(connection.cluster):
        users.setdefault(tenant["spec"]["plan"], []).append(tenant["metadata"]["name"])
    rows = [_row(name, plan, users) for name, plan in sorted(connection.plans().plans.items())]
    if output is not Format.TABLE:
        print_data([row.model_dump(by_alias=True, mode="json") for row in rows], output)
        return
    print_table(
        ("PLAN", "CPU", "MEMORY", "STORAGE", "PODS", "NAMESPACES", "POD SECURITY", "NETWORK", "TENANTS"),
        map(_cells, rows),
    )


@app.command("impact")
def show_impact(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="NEW.yaml", help="The changed plans file.")],
    form: PreviewFormatOption = PreviewFormat.TABLE,
    output_file: OutputFileOption = None,
) -> None:
    """Show which live tenants a changed plans file would change, and how.

    Exit code 0: none; 2: some; 1: an error, such as a tenant whose plan is gone.
    """
    connection: Connection = context.obj
    new = read_plans(file)
    with error_console.status("reading…"):
        found = _impact(read_live(connection), connection.plans(), new, file)
    write_preview(found, form, output_file, place=file.as_posix())
    raise typer.Exit(found.exit_code)


def _impact(base: Base, old: Plans, new: Plans, file: Path) -> Preview:
    text = file.read_text(encoding="utf-8")
    given = ManifestSet(
        tuple(
            TenantDocument(tenant, file.as_posix(), field_line(text, f"plans.{tenant['spec']['plan']}"))
            for tenant in base.tenants.values()
            if not is_deleting(tenant)
        ),
        faults=(),
        others=0,
    )
    before, after = (Comparison(plans, base).preview(given, is_complete=False) for plans in (old, new))
    anyway = {one.name: one for one in before.tenants}
    return after.model_copy(
        update={"tenants": tuple(_caused(one, anyway[one.name]) for one in after.tenants)}
    )


def _caused(one: TenantPreview, anyway: TenantPreview) -> TenantPreview:
    """A tenant that would change, or be refused, all the same with the plans in force is none of theirs."""
    refusals, others = ([f.rule for f in found.findings] for found in (one, anyway))
    is_same = one.changes == anyway.changes and one.outcome is anyway.outcome and refusals == others
    nothing = {"outcome": Outcome.UNCHANGED, "changes": (), "new_objects": (), "findings": ()}
    return one.model_copy(update=nothing) if is_same else one


def _row(name: str, plan: Plan, users: Mapping[str, list[str]]) -> PlanRow:
    network = plan.network.model_dump(by_alias=True, mode="json", exclude_none=True) if plan.network else {}
    return PlanRow(
        name=name,
        max_namespaces=plan.max_namespaces,
        quotas=_tightest(plan),
        pod_security=(plan.pod_security or PodSecurity.RESTRICTED).value,
        network=network,
        tenants=tuple(sorted(users.get(name, ()))),
    )


def _tightest(plan: Plan) -> dict[str, str]:
    amounts = sorted(
        ((resource, amount) for quota in plan.quotas for resource, amount in quota.hard.items()),
        key=lambda pair: -quantity_value(pair[1]),
    )
    return dict(amounts)


def _cells(row: PlanRow) -> tuple[str, ...]:
    def figure(*resources: str) -> str:
        return next((row.quotas[resource] for resource in resources if resource in row.quotas), "-")

    return (
        row.name,
        figure("requests.cpu", "cpu"),
        figure("requests.memory", "memory"),
        figure("requests.storage"),
        figure("pods"),
        str(row.max_namespaces),
        row.pod_security,
        ", ".join(row.network) or "-",
        str(len(row.tenants)),
    )
