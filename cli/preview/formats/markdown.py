"""A preview as a comment on a pull request. Pure.

Nothing that a manifest says can leave its place: every text is escaped, every diff stands in a fence. The
comment stays below what GitHub and GitLab take; what does not fit is named.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from cli.preview.findings.finding import Finding, Rule, Severity
from cli.preview.formats.diff_lines import diff_lines
from cli.preview.formats.escape import escaped_markdown, fence
from cli.preview.result import Outcome, Preview, TenantPreview
from tenancy.changes import Operation

# By this a CI job finds the comment that it made before.
MARKER: Final = "<!-- tenancy-preview -->"
# GitHub takes 65,536 characters.
LIMIT: Final = 60_000
# Kept free for the note on what was left out.
_RESERVE: Final = 2_000
# Of the table, the notes, and each block of findings: all together leave room for details.
_MAX_BLOCK: Final = 10_000
_MAX_LINES: Final = 100
_MAX_NAMES: Final = 20
_MAX_MESSAGE: Final = 300
_MAX_NAME: Final = 80

_ORDER: Final = list(Rule)
_HEADS: Final = {Severity.ERROR: "CAUTION", Severity.WARNING: "WARNING", Severity.NOTE: "NOTE"}
_OUTCOMES: Final = {
    Outcome.NEW: "new",
    Outcome.CHANGED: "changed",
    Outcome.DELETED: "**deleted**",
    Outcome.INVALID: "**error**",
}


def markdown(preview: Preview, limit: int = LIMIT) -> str:
    told = preview.of(*_OUTCOMES)
    head = [
        MARKER,
        f"### Tenants\n\n{escaped_markdown(f'{preview.summary}. Compared with {preview.base}.')}",
        *(block for severity in _HEADS for block in _alert(severity, list(preview.findings(severity)))),
        *_table(told),
        *_notes(preview.notes),
    ]
    return _fitted(head, [(one.name, _details(one)) for one in told if one.changes], limit)


def _fitted(head: list[str], details: list[tuple[str, str]], limit: int) -> str:
    """Blocks with an empty line between, as many as there is room for."""
    blocks, left_out = list(head), []
    room = limit - _RESERVE - sum(len(block) + 2 for block in head)
    for name, block in details:
        room_left = room - len(block) - 2
        if room_left < 0:
            left_out.append(name)
        else:
            blocks.append(block)
            room = room_left
    if left_out:
        told = escaped_markdown(_listed(left_out))
        blocks.append(f"*Left out for size: the details of {told}. `--format json` has all.*")
    return "\n\n".join(blocks) + "\n"


def _alert(severity: Severity, findings: list[Finding]) -> Iterator[str]:
    """The worst first, so that nobody can push it out of sight."""
    if findings:
        worst_first = sorted(findings, key=lambda finding: _ORDER.index(finding.rule))
        lines = _short([f"> - {_told(finding)}" for finding in worst_first], "> - ")
        yield "\n".join([f"> [!{_HEADS[severity]}]", *lines])


def _short(lines: list[str], lead: str) -> list[str]:
    """As many as a block may have, and how many there are besides."""
    kept: list[str] = []
    room = _MAX_BLOCK
    for line in lines[:_MAX_LINES]:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    more = len(lines) - len(kept)
    return [*kept, f"{lead}… and {more} more"] if more else kept


def _notes(notes: Iterable[str]) -> Iterator[str]:
    if lines := [f"- {escaped_markdown(_cut(note))}" for note in notes]:
        yield "\n".join(_short(lines, "- "))


def _cut(text: str, length: int = _MAX_MESSAGE) -> str:
    return text if len(text) <= length else text[:length] + "…"


def _told(finding: Finding) -> str:
    tenant = f"**{escaped_markdown(finding.tenant)}**: " if finding.tenant else ""
    place = f" ({escaped_markdown(f'{finding.file}:{finding.line}')})" if finding.file else ""
    return f"{tenant}{escaped_markdown(_cut(finding.message))}{place} `{finding.rule}`"


def _table(told: list[TenantPreview]) -> Iterator[str]:
    if not told:
        return
    head = ["| Tenant | | Created | Updated | Deleted | Warnings |", "|---|---|--:|--:|--:|--:|"]
    yield "\n".join([*head, *_short([_row(one) for one in told], "| ")])


def _row(one: TenantPreview) -> str:
    shown = f" ({escaped_markdown(_cut(one.display_name, _MAX_NAME))})" if one.display_name else ""
    counts = (
        one.count(Operation.CREATE),
        one.count(Operation.UPDATE),
        one.count(Operation.DELETE, Operation.RELEASE),
        sum(finding.severity is Severity.WARNING for finding in one.findings),
    )
    cells = (
        f"{escaped_markdown(one.name)}{shown}",
        _OUTCOMES[one.outcome],
        *(str(count or "") for count in counts),
    )
    return f"| {' | '.join(cells)} |"


def _details(one: TenantPreview) -> str:
    body = "\n".join(diff_lines(one))
    mark = fence(body)
    objects = f"{len(one.changes)} object{'s' if len(one.changes) > 1 else ''}"
    # The empty line after the summary is what makes the rest Markdown again.
    return (
        f"<details><summary>{escaped_markdown(one.name)}: {one.outcome}, {objects}</summary>\n\n"
        f"{mark}diff\n{body}\n{mark}\n\n</details>"
    )


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    more = len(every) - _MAX_NAMES
    return ", ".join(every[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
