"""Formats a preview as a Markdown comment on a pull request. No I/O.

Text from manifests is escaped, and diffs are in code fences, so that a manifest cannot change the layout. The
comment is shorter than the size limits of GitHub and GitLab. If necessary, the details of some tenants are
omitted, and the comment lists these tenants.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from cli.manifests.sources import location_text
from cli.preview.findings.finding import Finding, Rule, Severity
from cli.preview.formats.diff_lines import diff_lines
from cli.preview.formats.escape import escaped_markdown, fence
from cli.preview.result import Outcome, Preview, TenantPreview
from tenancy.changes import Operation

# CI jobs find the comment of an earlier run by this marker.
MARKER: Final = "<!-- tenancy-preview -->"
# The maximum length of the comment in characters. GitHub accepts 65,536.
LIMIT: Final = 60_000
# The number of characters that are reserved for the note about omitted details.
_RESERVE: Final = 2_000
# The maximum length of the table, of the notes, and of each block of findings. The rest is for details.
_MAX_BLOCK: Final = 10_000
_MAX_LINES: Final = 100
_MAX_NAMES: Final = 20
_MAX_MESSAGE: Final = 300
_MAX_NAME: Final = 80

# The order of findings with the same severity. Rules with a more severe effect come first.
_RULE_ORDER: Final = list(Rule)
_ALERT_TYPES: Final = {Severity.ERROR: "CAUTION", Severity.WARNING: "WARNING", Severity.NOTE: "NOTE"}
_OUTCOMES: Final = {
    Outcome.NEW: "new",
    Outcome.CHANGED: "changed",
    Outcome.DELETED: "**deleted**",
    Outcome.INVALID: "**error**",
}


def markdown(preview: Preview, limit: int = LIMIT) -> str:
    """The text of the comment, with at most `limit` characters. If necessary, some details are omitted."""
    tenants = preview.with_outcome(*_OUTCOMES)
    summary, base = escaped_markdown(preview.summary), escaped_markdown(preview.base)
    head = [
        MARKER,
        f"### Tenants\n\n{summary}. Compared with {base}.",
        *(block for severity in _ALERT_TYPES for block in _alert(severity, list(preview.findings(severity)))),
        *_table(tenants),
        *_notes(preview.notes),
    ]
    details = [(tenant.name, _details(tenant)) for tenant in tenants if tenant.changes]
    return _comment(head, details, limit)


def _comment(head: list[str], details: list[tuple[str, str]], limit: int) -> str:
    """A comment with all blocks of `head`, and with the blocks of `details` that fit.

    Each item in `details` is a tenant's name and the block about this tenant.
    """
    blocks, omitted = list(head), []
    space = limit - _RESERVE - sum(len(block) + 2 for block in head)
    for name, block in details:
        space_left = space - len(block) - 2
        if space_left < 0:
            omitted.append(name)
        else:
            blocks.append(block)
            space = space_left
    if omitted:
        names = escaped_markdown(_listed(omitted))
        blocks.append(f"*Omitted to keep the comment short: the details of {names}. Use `--output json`.*")
    return "\n\n".join(blocks) + "\n"


def _alert(severity: Severity, findings: list[Finding]) -> Iterator[str]:
    """An alert block with findings of one severity. Yields nothing if there are no findings.

    Findings with a more severe effect come first. If the block is too long, the last findings are omitted.
    """
    if findings:
        most_severe_first = sorted(findings, key=lambda finding: _RULE_ORDER.index(finding.rule))
        lines = _limited([f"> - {_finding_text(finding)}" for finding in most_severe_first], "> - ")
        yield "\n".join([f"> [!{_ALERT_TYPES[severity]}]", *lines])


def _limited(lines: list[str], prefix: str) -> list[str]:
    """The lines that fit into one block. If lines are omitted, the last line shows their number."""
    kept: list[str] = []
    space = _MAX_BLOCK
    for line in lines[:_MAX_LINES]:
        space -= len(line) + 1
        if space < 0:
            break
        kept.append(line)
    more = len(lines) - len(kept)
    return [*kept, f"{prefix}… and {more} more"] if more else kept


def _notes(notes: Iterable[str]) -> Iterator[str]:
    if lines := [f"- {escaped_markdown(_truncated(note))}" for note in notes]:
        yield "\n".join(_limited(lines, "- "))


def _truncated(text: str, length: int = _MAX_MESSAGE) -> str:
    return text if len(text) <= length else text[:length] + "…"


def _finding_text(finding: Finding) -> str:
    tenant = f"**{escaped_markdown(finding.tenant)}**: " if finding.tenant else ""
    location = f" ({escaped_markdown(location_text(finding.file, finding.line))})" if finding.file else ""
    return f"{tenant}{escaped_markdown(_truncated(finding.message))}{location} `{finding.rule}`"


def _table(tenants: list[TenantPreview]) -> Iterator[str]:
    if not tenants:
        return
    head = ["| Tenant | Outcome | Created | Updated | Deleted | Warnings |", "|---|---|--:|--:|--:|--:|"]
    yield "\n".join([*head, *_limited([_row(tenant) for tenant in tenants], "| ")])


def _row(tenant: TenantPreview) -> str:
    display_name = escaped_markdown(_truncated(tenant.display_name, _MAX_NAME))
    counts = (
        tenant.count(Operation.CREATE),
        tenant.count(Operation.UPDATE),
        tenant.count(Operation.DELETE, Operation.RELEASE),
        sum(finding.severity is Severity.WARNING for finding in tenant.findings),
    )
    cells = (
        escaped_markdown(tenant.name) + (f" ({display_name})" if display_name else ""),
        _OUTCOMES[tenant.outcome],
        *(str(count or "") for count in counts),
    )
    return f"| {' | '.join(cells)} |"


def _details(tenant: TenantPreview) -> str:
    diff = "\n".join(diff_lines(tenant))
    fence_marker = fence(diff)
    objects = f"{len(tenant.changes)} object{'s' if len(tenant.changes) > 1 else ''}"
    # The empty line after the summary ends the HTML block. The lines after it are Markdown again.
    return (
        f"<details><summary>{escaped_markdown(tenant.name)}: {tenant.outcome}, {objects}</summary>\n\n"
        f"{fence_marker}diff\n{diff}\n{fence_marker}\n\n</details>"
    )


def _listed(names: Iterable[str]) -> str:
    all_names = list(names)
    more = len(all_names) - _MAX_NAMES
    return ", ".join(all_names[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
