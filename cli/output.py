"""How commands speak: tables for people, JSON and YAML for programs, complaints on standard error.

Colours, and anything that moves, only on a terminal; rich sees to that.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Annotated, Any, Final

import typer
import yaml
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tenancy.changes import ObjectChange, Operation


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


FormatOption = Annotated[Format, typer.Option("--output", "-o", help="A table for people, or all there is.")]

# A pipe has no width: there, nothing is cut off.
_PIPE_WIDTH: Final = 10_000
console = Console(soft_wrap=True, highlight=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH)
errors = Console(stderr=True, soft_wrap=True, highlight=False)

PHASE_STYLES = {"Active": "green", "Pending": "yellow", "Terminating": "yellow", "Failed": "bold red"}
_SIGNS = {
    Operation.CREATE: ("+", "green"),
    Operation.UPDATE: ("~", "yellow"),
    Operation.DELETE: ("-", "red"),
    Operation.RELEASE: ("^", "cyan"),
}


def complain(problem: str) -> None:
    errors.print(Text.assemble(("error: ", "bold red"), problem))


def print_data(data: Any, output: Format) -> None:
    """As JSON or YAML, the same content."""
    if output is Format.JSON:
        text = json.dumps(data, indent=2, ensure_ascii=False)
    else:
        text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True).rstrip()
    console.print(text, markup=False)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console.print(table)


def print_changes(changes: Iterable[ObjectChange]) -> None:
    """Objects that change, a line each; of those that are changed, each field before and after."""
    for change in changes:
        sign, style = _SIGNS[change.operation]
        console.print(Text(f"{sign} {change.key}", style=style))
        for field in change.fields:
            console.print(Text(f"    {field.path}"))
            if field.before is not None:
                console.print(Text(f"      - {_inline(field.before)}", style="red"))
            if field.after is not None:
                console.print(Text(f"      + {_inline(field.after)}", style="green"))


def _inline(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
