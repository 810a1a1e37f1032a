"""Prints a preview on a terminal: the changes, a table of the tenants, the findings and a summary."""

from typing import Final

from rich.text import Text

from cli.output import console, print_changes, print_table
from cli.preview.findings.finding import Finding, Severity
from cli.preview.formats.escape import printable
from cli.preview.manifest_checks import finding_text
from cli.preview.result import Outcome, Preview, TenantPreview
from tenancy.changes import FieldChange, ObjectChange, Operation

_STYLES: Final = {
    Outcome.NEW: "green",
    Outcome.CHANGED: "yellow",
    Outcome.DELETED: "bold red",
    Outcome.INVALID: "bold red",
}
_SEVERITY_STYLES: Final = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


def print_preview(preview: Preview) -> None:
    tenants = preview.with_outcome(*_STYLES)
    for tenant in tenants:
        if tenant.changes:
            console.print(Text(f"{tenant.name}: {tenant.outcome}", style="bold"))
            print_changes(map(_printable_change, tenant.changes))
            console.print()
    if tenants:
        print_table(("TENANT", "OUTCOME", "CREATED", "UPDATED", "DELETED"), map(_cells, tenants))
        console.print()
    for finding in preview.findings(*Severity):
        console.print(_finding_line(finding))
    for note in preview.notes:
        console.print(Text(f"note: {printable(note)}", style="cyan"))
    console.print(Text(f"{preview.summary} (compared with {preview.base})", style="bold"))


def _printable_change(change: ObjectChange) -> ObjectChange:
    """The change with escaped control characters, because a terminal would interpret control characters."""
    fields = [
        {name: printable(value) if isinstance(value, str) else value for name, value in field}
        for field in change.fields
    ]
    return change.model_copy(update={"fields": tuple(FieldChange.model_validate(field) for field in fields)})


def _cells(tenant: TenantPreview) -> tuple[str | Text, ...]:
    counts = (
        tenant.count(Operation.CREATE),
        tenant.count(Operation.UPDATE),
        tenant.count(Operation.DELETE, Operation.RELEASE),
    )
    outcome = Text(tenant.outcome, style=_STYLES[tenant.outcome])
    return tenant.name, outcome, *(str(count or "-") for count in counts)


def _finding_line(finding: Finding) -> Text:
    return Text.assemble(
        (f"{finding.severity}: ", _SEVERITY_STYLES[finding.severity]),
        printable(f"{finding_text(finding)} [{finding.rule}]"),
    )
