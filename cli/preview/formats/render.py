"""Writes a preview in the chosen format to standard output or to a file."""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from cli.output import console
from cli.preview.formats.json_format import json_data
from cli.preview.formats.markdown import markdown
from cli.preview.formats.sarif import sarif
from cli.preview.formats.table import print_preview
from cli.preview.result import Preview


class PreviewFormat(StrEnum):
    TABLE = "table"
    MARKDOWN = "markdown"
    JSON = "json"
    SARIF = "sarif"


PreviewFormatOption = Annotated[
    PreviewFormat,
    typer.Option(
        "--output",
        "-o",
        help="The output format: a table, Markdown for a pull request, JSON, or SARIF for code scanning.",
    ),
]
# The name of the option in earlier versions, which pipelines of users still contain.
OldFormatOption = Annotated[PreviewFormat | None, typer.Option("--format", hidden=True)]
OutputFileOption = Annotated[
    Path | None,
    typer.Option(help="Write the preview to this file, and print only a summary line."),
]


def write_preview(preview: Preview, form: PreviewFormat, file: Path | None, default_file: str) -> None:
    """Write the preview to the file, or to standard output if `file` is None.

    In SARIF, each finding needs a file. `default_file` is the file for findings that have no file.
    """
    text = _text(preview, form, default_file)
    if file is None:
        # Do not print with rich, because it would wrap lines of Markdown and JSON.
        sys.stdout.write(text)
        return
    # The table may contain terminal colours, which do not belong in a file.
    file.write_text(Text.from_ansi(text).plain + "\n" if form is PreviewFormat.TABLE else text, "utf-8")
    console.print(preview.summary)


def _text(preview: Preview, form: PreviewFormat, default_file: str) -> str:
    if form is PreviewFormat.TABLE:
        with console.capture() as capture:
            print_preview(preview)
        return capture.get()
    if form is PreviewFormat.MARKDOWN:
        return markdown(preview)
    data = json_data(preview) if form is PreviewFormat.JSON else sarif(preview, default_file)
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
