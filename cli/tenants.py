"""`tenancy list`: all tenants at a glance."""

import typer
from rich.text import Text

from cli.output import PHASE_STYLES, Format, FormatOption, console, print_data, print_table
from cli.session import Session
from watcher.tenants import read_tenants
from watcher.view import TenantRow, tenant_row


def list_tenants(context: typer.Context, output: FormatOption = Format.TABLE) -> None:
    """List all tenants: phase, plan, what they use of their quota, and what is wrong."""
    session: Session = context.obj
    live = session.objects_by_tenant()
    rows = [
        tenant_row(tenant, live.get(tenant["metadata"]["name"], {}))
        for tenant in read_tenants(session.cluster)
    ]
    rows.sort(key=lambda row: row.name)
    if output is not Format.TABLE:
        print_data([row.model_dump(by_alias=True, mode="json") for row in rows], output)
    elif not rows:
        console.print("There are no tenants. Write one and `tenancy apply` it: see examples/simple.yaml.")
    else:
        print_table(
            ("NAME", "PHASE", "PLAN", "NAMESPACES", "CPU", "MEMORY", "PODS", "WHY"), map(_cells, rows)
        )


def _cells(row: TenantRow) -> tuple[str | Text, ...]:
    bars = {bar.resource: f"{bar.used}/{bar.hard}" for bar in row.quotas}
    phase = Text(row.phase, style=PHASE_STYLES.get(row.phase, ""))
    figures = (bars.get(resource, "-") for resource in ("cpu", "memory", "pods"))
    return row.name, phase, row.plan, str(row.namespaces), *figures, row.reason
