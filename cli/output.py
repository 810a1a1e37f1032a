"""Prints tables, JSON and YAML to standard output, and errors to standard error.

The library `rich` prints colours and progress only on a terminal.
"""

import json
import re
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
import yaml
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    # This import is slow, and most commands print no changes.
    from tenancy.changes import ObjectChange


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


FormatOption = Annotated[
    Format, typer.Option("--output", "-o", help="The output format. Only JSON and YAML contain all fields.")
]

# The possible numbers of spaces between columns. `_layout` chooses one of them.
_GAPS: Final = (3, 2, 1)
_MIN_FOLDED_WIDTH: Final = 12
# A pipe has no width. This width is so large that rich does not wrap lines.
_PIPE_WIDTH: Final = 10_000
# Control characters and surrogates. A terminal would interpret control characters, and surrogates cannot be
# encoded. Line breaks are not matched, because rich handles them.
_UNPRINTABLE: Final = re.compile(r"[^\n -~\u00a0-\ud7ff\ue000-\U0010ffff]")


class SafeConsole(Console):
    """A rich console that escapes control characters.

    Names, messages and field values come from users. A control character could change the terminal's output.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(_escaped(segment.text), segment.style)


def _escaped(text: str) -> str:
    """The text with JSON escapes, such as `\\u001b`, instead of unprintable characters.

    JSON output with these escapes is still valid.
    """
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


# rich must not interpret `[prod]` in the output as markup, or `:a:` in an IPv6 address as an emoji.
_data_console: Final = partial(SafeConsole, soft_wrap=True, highlight=False, markup=False, emoji=False)
console = _data_console(width=None if sys.stdout.isatty() else _PIPE_WIDTH)
error_console = _data_console(stderr=True)

PHASE_STYLES = {"Active": "green", "Pending": "yellow", "Terminating": "yellow", "Failed": "bold red"}
# The keys are the values of `tenancy.changes.Operation`.
_SIGNS = {
    "create": ("+", "green"),
    "update": ("~", "yellow"),
    "delete": ("-", "red"),
    "release": ("^", "cyan"),
}


def confirm(question: str, refusal: Exception) -> None:
    """Ask the user a yes/no question on the terminal. If the answer is no, abort the command.

    Raises `refusal` if standard input is not a terminal.
    """
    if not sys.stdin.isatty():
        raise refusal
    typer.confirm(question, abort=True)


def print_error(problem: str) -> None:
    """Print the problem to standard error, with the prefix `error: `."""
    error_console.print(Text.assemble(("error: ", "bold red"), problem))


def print_data(data: Any, output: Format) -> None:
    """Print the data as JSON or YAML to standard output."""
    if output is Format.JSON:
        text = json.dumps(data, indent=2, ensure_ascii=False)
    else:
        text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True).rstrip()
    console.print(text)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
    """Print a table. On a narrow terminal, long cells wrap to the next line. Nothing is truncated."""
    console.print(fitted_table(columns, rows, console.width))


def fitted_table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]], total_width: int) -> Table:
    """A table that is at most `total_width` characters wide, if possible. Long cells wrap if necessary."""
    lines = [[cell if isinstance(cell, Text) else Text(cell) for cell in row] for row in rows]
    widths = [
        max([len(title), *(line[index].cell_len for line in lines)]) for index, title in enumerate(columns)
    ]
    gap, folded = _layout(widths, total_width)
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
    for index, title in enumerate(columns):
        table.add_column(title, no_wrap=index not in folded, overflow="fold")
    for line in lines:
        table.add_row(*line)
    return table


def _layout(widths: Sequence[int], total_width: int) -> tuple[int, set[int]]:
    """The number of spaces between columns (3, 2 or 1), and the indices of the columns that wrap.

    `widths` are the widths of the columns. As few columns as possible wrap. If at most one column wraps, the
    number of spaces is as high as possible. If several columns wrap, the number of spaces is as low as
    possible.
    """
    layouts = [(gap, _folded(widths, total_width - gap * (len(widths) - 1))) for gap in _GAPS]
    fewest = min(len(folded) for _, folded in layouts)
    best = [layout for layout in layouts if len(layout[1]) == fewest]
    return best[-1] if fewest > 1 else best[0]


def _folded(widths: Sequence[int], total_width: int) -> set[int]:
    """The indices of the columns that must wrap so that the table fits. The widest columns wrap first."""
    folded: set[int] = set()
    for widest in sorted(range(len(widths)), key=lambda index: -widths[index]):
        min_widths = (
            min(width, _MIN_FOLDED_WIDTH) if index in folded else width for index, width in enumerate(widths)
        )
        if sum(min_widths) <= total_width:
            break
        folded.add(widest)
    return folded


class GrowingTable:
    """A table whose rows are printed one after the other, as in `tenancy list --watch`.

    If a later cell is wider than its column, the column is wider from this row on. Each row is one line, even
    if it is longer than a line of the terminal.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._widths = [len(title) for title in columns]
        self._header: list[Text] | None = [Text(title, style="bold") for title in columns]

    def print(self, rows: Iterable[Sequence[str | Text]]) -> None:
        lines = [[cell if isinstance(cell, Text) else Text(cell) for cell in row] for row in rows]
        self._widths = [
            max([width, *(line[index].cell_len for line in lines)])
            for index, width in enumerate(self._widths)
        ]
        for line in [self._header, *lines] if self._header else lines:
            console.print(self._line(line))
        self._header = None

    def _line(self, cells: Sequence[Text]) -> Text:
        padding = [width - cell.cell_len for cell, width in zip(cells, self._widths, strict=True)]
        padded = [cell + " " * count for cell, count in zip(cells, padding, strict=True)]
        line = Text(" " * _GAPS[0]).join(padded)
        line.rstrip()
        return line


def print_changes(changes: Iterable["ObjectChange"]) -> None:
    """Print one line per changed object. For an updated object, also print each changed field.

    If objects in several namespaces change in the same way, print the change once, below the names of the
    namespaces.
    """
    from cli.change_groups import change_groups

    heading = ""
    for group in change_groups(changes):
        if group.heading != heading:
            heading = group.heading
            console.print(Text(f"{heading}:", style="bold"))
        sign, style = _SIGNS[group.change.operation]
        console.print(Text(f"{sign} {group.title}", style=style))
        for field in group.change.fields:
            console.print(Text(f"    {field.path}"))
            if field.before is not None:
                console.print(Text(f"      - {_inline(field.before)}", style="red"))
            if field.after is not None:
                console.print(Text(f"      + {_inline(field.after)}", style="green"))


def _inline(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
