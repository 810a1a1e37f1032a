"""Shows tenants as the table of `tenancy list`, as an SVG image of this table, or as one line per change."""

import re
from collections.abc import Iterable, Mapping
from io import StringIO

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.table import Table

from cli.commands.list_tenants import list_tables, rows_with_quotas, uses_both_groups
from cli.listing.formats import ListFormat
from cli.output import fitted_table
from tenancy.base.kinds import api_group
from tenancy.base.manifest import Manifest
from tenancy.spec.tenant_status import Phase
from watcher.view import TenantRow

PICTURE_WIDTH = 96

# The API group and the name of a tenant.
RowKey = tuple[str, str]


def tenant_rows(tenants: Iterable[Manifest], quotas: Iterable[Manifest]) -> dict[RowKey, TenantRow]:
    """The rows of the table of tenants, sorted by API group and name.

    Each row shows how much of the tenant's quotas is used.
    """
    rows = rows_with_quotas(tenants, quotas)
    by_key = {(api_group(row.api_version), row.name): row for row in rows}
    return dict(sorted(by_key.items()))


def tenant_table(rows: Iterable[TenantRow], width: int) -> Table:
    shown = list(rows)
    columns, cells = list_tables(has_groups=uses_both_groups(shown))[ListFormat.TABLE]
    return fitted_table(columns, map(cells, shown), width)


def tenant_table_svg(rows: Iterable[TenantRow]) -> str:
    """The table as SVG. The SVG uses no web fonts, so a browser does not download fonts."""
    console = Console(file=StringIO(), record=True, width=PICTURE_WIDTH, color_system="truecolor")
    console.print(tenant_table(rows, PICTURE_WIDTH))
    without_fonts = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    return console.export_svg(title="./dev run", code_format=without_fonts)


def change_lines(before: Mapping[RowKey, TenantRow], after: Mapping[RowKey, TenantRow]) -> list[str]:
    """One line for each tenant that was created or deleted, or whose phase has changed.

    `before` and `after` contain the rows of all tenants at two points in time.
    """
    lines = []
    for (group, name), row in after.items():
        if (group, name) not in before or before[group, name].phase != row.phase:
            reason = f" ({row.reason}: {row.message})" if row.phase == Phase.FAILED else ""
            lines.append(f"tenant {name} ({group}): {row.phase}{reason}")
    return lines + [f"tenant {name} ({group}): deleted" for group, name in before.keys() - after.keys()]
