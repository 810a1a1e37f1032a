"""A preview for a terminal: what changes, what to think about, and the sum."""

from typing import Final

from rich.text import Text

from cli.output import console, print_changes, print_table
from cli.preview.findings.finding import Finding, Severity
from cli.preview.formats.escape import printable
from cli.preview.result import Outcome, Preview, TenantPreview
from tenancy.changes import FieldChange, ObjectChange, Operation

_STYLES: Final = {
    Outcome.NEW: "green",
    Outcome.CHANGED: "yellow",
    Outcome.DELETED: "bold red",
    Outcome.INVALID: "bold red",
}
_SEVERITIES: Final = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


def print_preview(preview: Preview) -> None:
    told = preview.of(*_STYLES)
    for one in told:
        if one.changes:
            console.print(Text(f"{one.name}: {one.outcome}", style="bold"))
            print_changes(map(_safe, one.changes))
            console.print()
    if told:
        print_table(("TENANT", "OUTCOME", "CREATED", "UPDATED", "DELETED"), map(_cells, told))
        console.print()
    for finding in preview.findings(*Severity):
        console.print(_line(finding))
    for note in preview.notes:
        console.print(Text(f"note: {printable(note)}", style="cyan"))
    console.print(Text(f"{preview.summary} (compared with {preview.base})", style="bold"))


def _safe(change: ObjectChange) -> ObjectChange:
    """A terminal obeys some characters that a manifest may hold."""
    fields = [
        {name: printable(value) if isinstance(value, str) else value for name, value in field}
        for field in change.fields
    ]
    return change.model_copy(update={"fields": tuple(FieldChange.model_validate(field) for field in fields)})


def _cells(one: TenantPreview) -> tuple[str | Text, ...]:
    counts = (
        one.count(Operation.CREATE),
        one.count(Operation.UPDATE),
        one.count(Operation.DELETE, Operation.RELEASE),
    )
    return one.name, Text(one.outcome, style=_STYLES[one.outcome]), *(str(count or "-") for count in counts)


def _line(finding: Finding) -> Text:
    place = f" ({finding.file}:{finding.line})" if finding.file else ""
    tenant = f"{finding.tenant}: " if finding.tenant else ""
    return Text.assemble(
        (f"{finding.severity}: ", _SEVERITIES[finding.severity]),
        printable(f"{tenant}{finding.message}{place} [{finding.rule}]"),
    )
