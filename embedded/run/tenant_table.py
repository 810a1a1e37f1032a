"""Tenants for the eye: rows, a live table for a terminal, and lines for everything else.

Called by `./dev run`. Reads manifests as they come from the API server; asks it for nothing.
"""

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
    name: str
    group: str
    plan: str
    phase: str
    namespaces: str
    last_result: str
    age: str
    why: str

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
        phase=phase_of(tenant),
        namespaces=str(status.get("namespaceCount", "")),
        last_result=": ".join(part for part in (update.get("result"), update.get("message")) if part),
        age=age_text((now - created).total_seconds()),
        why=ready_message(tenant),
    )


def phase_of(tenant: Manifest) -> str:
    phase: str = tenant.get("status", {}).get("phase", Phase.PENDING.value)
    return phase


def ready_message(tenant: Manifest) -> str:
    """What the Ready condition says."""
    for condition in tenant.get("status", {}).get("conditions", ()):
        if condition["type"] == "Ready":
            return ": ".join(part for part in (condition["reason"], condition.get("message")) if part)
    return "the watcher has not looked at it yet"


def age_text(age_s: float) -> str:
    for unit, unit_s in (("d", 86400), ("h", 3600), ("m", 60)):
        if age_s >= 2 * unit_s:
            return f"{int(age_s // unit_s)}{unit}"
    return f"{max(0, int(age_s))}s"


def tenant_table(rows: Iterable[TenantRow]) -> Table:
    table = Table("tenant", "group", "plan", "phase", "namespaces", "last result", "age", box=None)
    for row in rows:
        # As Text: in plain strings, what stands in brackets would be taken for markup.
        phase = Text(row.phase, style=PHASE_STYLES.get(row.phase, ""))
        result = Text(row.why if row.phase == Phase.FAILED else row.last_result)
        table.add_row(row.name, row.group, Text(row.plan), phase, row.namespaces, result, row.age)
    return table


def tenant_picture(rows: Iterable[TenantRow]) -> str:
    """The table as an SVG, for a page. Its font is the reader's own: nothing is fetched from anywhere."""
    console = Console(file=StringIO(), record=True, width=96, color_system="truecolor")
    console.print(tenant_table(rows))
    without_fonts = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    return console.export_svg(title="./dev run", code_format=without_fonts)


def change_lines(before: Mapping[tuple[str, str], TenantRow], rows: Iterable[TenantRow]) -> list[str]:
    """A line for each tenant whose phase has changed, came or went."""
    after = {row.key: row for row in rows}
    lines = []
    for key, row in after.items():
        if key not in before or before[key].phase != row.phase:
            why = f" ({row.why})" if row.phase == Phase.FAILED else ""
            lines.append(f"tenant {row.name} ({row.group}): {row.phase}{why}")
    gone = (row for key, row in before.items() if key not in after)
    return lines + [f"tenant {row.name} ({row.group}): gone" for row in gone]


def rows_of(tenants: Iterable[Manifest]) -> list[TenantRow]:
    now = datetime.now(UTC)
    return sorted((tenant_row(tenant, now) for tenant in tenants), key=lambda row: row.key)
