"""The output formats of `tenancy list`."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.text import Text

from cli.output import Format, GrowingTable, console, print_data, print_table
from cli.rights.permissions import Right
from cli.selection.tenants import resource_and_name
from watcher.view import TenantRow


class ListFormat(StrEnum):
    TABLE = "table"
    WIDE = "wide"
    NAME = "name"
    JSON = "json"
    YAML = "yaml"


ListFormatOption = Annotated[
    ListFormat,
    typer.Option(
        "--output",
        "-o",
        help="The output format. `wide` adds columns. `name` prints full names, such as "
        "`tenant.platform.ai/research`, which kubectl and other commands accept. Only JSON and YAML contain "
        "all fields.",
    ),
]

Cells = tuple[str | Text, ...]
# For each format that is a table: the columns, and a function that returns the cells of a row.
Tables = Mapping[ListFormat, tuple[Sequence[str], Callable[[TenantRow], Cells]]]


def print_rows(
    rows: Sequence[TenantRow], output: ListFormat, tables: Tables, missing: Sequence[Right] = ()
) -> None:
    """Print the rows. In JSON and YAML, each row also contains `missing`, the rights that the user lacks."""
    if output in tables:
        columns, cells = tables[output]
        if output is ListFormat.WIDE:
            GrowingTable(columns).print(map(cells, rows))  # As in kubectl, rows do not wrap.
        else:
            print_table(columns, map(cells, rows))
    elif output is ListFormat.NAME:
        for row in rows:
            console.print(resource_and_name(row.api_version, row.name))
    else:
        rights = [str(right) for right in missing]
        print_data([{**row_data(row), "missing": rights} for row in rows], Format(output))


def row_data(row: TenantRow) -> dict[str, Any]:
    return row.model_dump(by_alias=True, mode="json")


def row_stream(
    output: ListFormat, tables: Tables
) -> tuple[Callable[[Sequence[TenantRow]], None], Callable[[TenantRow], object]]:
    """Return two functions for `tenancy list --watch`.

    The first function prints rows below the rows that are already printed. The second function returns the
    part of a row that this format prints. If this part is unchanged, the row does not have to be printed
    again. JSON and YAML output is a stream with one document per row.
    """
    if output in tables:
        columns, cells = tables[output]
        table = GrowingTable(columns)
        return lambda rows: table.print(map(cells, rows)), cells
    if output is ListFormat.NAME:
        return lambda rows: print_rows(rows, output, tables), row_data
    return lambda rows: _print_documents(rows, Format(output)), row_data


def _print_documents(rows: Sequence[TenantRow], output: Format) -> None:
    for row in rows:
        if output is Format.YAML:
            console.print("---")
        print_data(row_data(row), output)
