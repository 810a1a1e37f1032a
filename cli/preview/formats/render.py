"""How a preview is handed over, in the form that was asked for. `preview` and `plans impact` share it."""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from cli.output import console
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
        "--format",
        "-o",
        help="A table for people, Markdown for a pull request, or JSON or SARIF for programs.",
    ),
]
OutputFileOption = Annotated[
    Path | None,
    typer.Option(help="Write to this file; standard output then has one line that sums it up."),
]


def write_preview(preview: Preview, form: PreviewFormat, file: Path | None, place: str) -> None:
    """`place` is what findings are about that stand in no file."""
    text = _text(preview, form, place)
    if file is None:
        # As it is: a line of Markdown or JSON is never folded.
        sys.stdout.write(text)
        return
    # A terminal's colours are not for files.
    file.write_text(Text.from_ansi(text).plain + "\n" if form is PreviewFormat.TABLE else text, "utf-8")
    console.print(preview.summary)


def _text(preview: Preview, form: PreviewFormat, place: str) -> str:
    if form is PreviewFormat.TABLE:
        with console.capture() as told:
            print_preview(preview)
        return told.get()
    if form is PreviewFormat.MARKDOWN:
        return markdown(preview)
    data = preview.document() if form is PreviewFormat.JSON else sarif(preview, place)
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
