"""Tenants as table rows, as a table for a terminal, and as one line per change."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from io import StringIO

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tenancy.base.manifest import Manifest
from tenancy.spec.tenant_status import Phase

PHASE_STYLES: dict[str, str] = {Phase.ACTIVE: "green", Phase.FAILED: "red", Phase.TERMINATING: "yellow"}


@dataclass(frozen=True)
class TenantRow:
    """The texts of one tenant in the table. `ready_message` is shown if the tenant has failed."""

    name: str
    group: str
    plan: str
    phase: str
    namespaces: str
    last_result: str
    age: str
    ready_message: str

    @property
    def key(self) -> tuple[str, str]:
        return self.group, self.name


def tenant_row(tenant: Manifest, now: datetime) -> TenantRow:
    status, metadata = tenant.get("status", {}), tenant["metadata"]
    update = status.get("lastUpdate") or {}
    created = datetime.fromisoformat(metadata["creationTimestamp"])
    return TenantRow(
        name=metadata["name"],
        group=tenant["apiVersion"].partition("/")[0],
        plan=tenant.get("spec", {}).get("plan", ""),
        phase=tenant_phase(tenant),
        namespaces=str(status.get("namespaceCount", "")),
        last_result=": ".join(part for part in (update.get("result"), update.get("message")) if part),
        age=age_text((now - created).total_seconds()),
        ready_message=ready_message(tenant),
    )


def tenant_phase(tenant: Manifest) -> str:
    phase: str = tenant.get("status", {}).get("phase", Phase.PENDING.value)
    return phase


def ready_message(tenant: Manifest) -> str:
    """The reason and the message of the Ready condition."""
    for condition in tenant.get("status", {}).get("conditions", ()):
        if condition["type"] == "Ready":
            return ": ".join(part for part in (condition["reason"], condition.get("message")) if part)
    return "not reconciled yet"


def age_text(age_s: float) -> str:
    for unit, unit_s in (("d", 86400), ("h", 3600), ("m", 60)):
        if age_s >= 2 * unit_s:
            return f"{int(age_s // unit_s)}{unit}"
    return f"{max(0, int(age_s))}s"


def tenant_table(rows: Iterable[TenantRow]) -> Table:
    table = Table("tenant", "group", "plan", "phase", "namespaces", "last result", "age", box=None)
    for row in rows:
        # Text, because rich interprets brackets in plain strings as markup.
        phase = Text(row.phase, style=PHASE_STYLES.get(row.phase, ""))
        result = Text(row.ready_message if row.phase == Phase.FAILED else row.last_result)
        table.add_row(row.name, row.group, Text(row.plan), phase, row.namespaces, result, row.age)
    return table


def tenant_table_svg(rows: Iterable[TenantRow]) -> str:
    """The table as SVG. It refers to no web fonts, so a browser downloads nothing."""
    console = Console(file=StringIO(), record=True, width=96, color_system="truecolor")
    console.print(tenant_table(rows))
    without_fonts = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    return console.export_svg(title="./dev run", code_format=without_fonts)


def change_lines(before: Mapping[tuple[str, str], TenantRow], rows: Iterable[TenantRow]) -> list[str]:
    """A line for each tenant that is new, is deleted, or has another phase."""
    after = {row.key: row for row in rows}
    lines = []
    for key, row in after.items():
        if key not in before or before[key].phase != row.phase:
            reason = f" ({row.ready_message})" if row.phase == Phase.FAILED else ""
            lines.append(f"tenant {row.name} ({row.group}): {row.phase}{reason}")
    deleted_rows = (row for key, row in before.items() if key not in after)
    return lines + [f"tenant {row.name} ({row.group}): deleted" for row in deleted_rows]


def tenant_rows(tenants: Iterable[Manifest]) -> list[TenantRow]:
    """The rows of the tenants, sorted by group and name."""
    now = datetime.now(UTC)
    return sorted((tenant_row(tenant, now) for tenant in tenants), key=lambda row: row.key)
