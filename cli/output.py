"""How commands speak: tables for people, JSON and YAML for programs, complaints on standard error.

Colours, and anything that moves, only on a terminal; rich sees to that.
"""

import json
import re
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import partial
from typing import Annotated, Any, Final

import typer
import yaml
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from tenancy.changes import ObjectChange, Operation


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


FormatOption = Annotated[Format, typer.Option("--output", "-o", help="A table for people, or all there is.")]

_GAPS: Final = (3, 2, 1)
# How far a column may be squeezed.
_LEAST_WIDTH: Final = 12
# A pipe has no width: there, nothing is cut off.
_PIPE_WIDTH: Final = 10_000
# What a terminal obeys, or no encoding has. Line breaks are for rich to place.
_OBEYED: Final = re.compile(r"[^\n -~\u00a0-\ud7ff\ue000-\U0010ffff]")


class SafeConsole(Console):
    """Shows what is in a text, and does nothing of it: names, messages and fields are other people's."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(_shown(segment.text), segment.style)


def _shown(text: str) -> str:
    """In the form that JSON has for them: what is printed as JSON stays JSON."""
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


# What is printed is data: neither `[prod]` nor the `:a:` of an IPv6 address stands for something else.
_PLAIN: Final = partial(SafeConsole, soft_wrap=True, highlight=False, markup=False, emoji=False)
console = _PLAIN(width=None if sys.stdout.isatty() else _PIPE_WIDTH)
error_console = _PLAIN(stderr=True)

PHASE_STYLES = {"Active": "green", "Pending": "yellow", "Terminating": "yellow", "Failed": "bold red"}
_SIGNS = {
    Operation.CREATE: ("+", "green"),
    Operation.UPDATE: ("~", "yellow"),
    Operation.DELETE: ("-", "red"),
    Operation.RELEASE: ("^", "cyan"),
}


def print_error(problem: str) -> None:
    error_console.print(Text.assemble(("error: ", "bold red"), problem))


def print_data(data: Any, output: Format) -> None:
    """As JSON or YAML, the same content."""
    if output is Format.JSON:
        text = json.dumps(data, indent=2, ensure_ascii=False)
    else:
        text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True).rstrip()
    console.print(text)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
    """On a narrow terminal, long cells go on in the next line; nothing is cut off."""
    lines = [[cell if isinstance(cell, Text) else Text(cell) for cell in row] for row in rows]
    widths = [
        max(len(title), *(line[index].cell_len for line in lines)) for index, title in enumerate(columns)
    ]
    gap, folded = _layout(widths, console.width)
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
    for index, title in enumerate(columns):
        table.add_column(title, no_wrap=index not in folded, overflow="fold")
    for line in lines:
        table.add_row(*line)
    console.print(table)


def _layout(widths: Sequence[int], room: int) -> tuple[int, set[int]]:
    """The gap between columns, and which are folded. Narrow gaps are better than a second folded column."""
    for gap in _GAPS:
        folded = _folded(widths, room - gap * (len(widths) - 1))
        if len(folded) <= 1:
            break
    return gap, folded


def _folded(widths: Sequence[int], room: int) -> set[int]:
    """The widest columns, as few as will do, so that the others stay whole."""
    folded: set[int] = set()
    for widest in sorted(range(len(widths)), key=lambda index: -widths[index]):
        squeezed = (
            min(width, _LEAST_WIDTH) if index in folded else width for index, width in enumerate(widths)
        )
        if sum(squeezed) <= room:
            break
        folded.add(widest)
    return folded


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
