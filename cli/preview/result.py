"""What a preview says, in one form for all renderings. Its JSON is `--format json`, and stays as it is: new
fields may come, none goes or changes its meaning while `formatVersion` is the same.

Names are camelCase there. Pure.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, Final

from pydantic import Field

from cli.preview.findings.finding import Finding, Severity
from tenancy.base.model import Model
from tenancy.changes import ObjectChange, Operation

_FORMAT_VERSION: Final = 1
# The counts of `summary`, and its words for one and for several.
_WORDS: Final = {
    "changed": ("changes", "change"),
    "new": ("is new", "are new"),
    "deleted": ("is deleted", "are deleted"),
    "invalid": ("has an error", "have errors"),
}


class Outcome(StrEnum):
    NEW = "new"
    CHANGED = "changed"
    DELETED = "deleted"
    UNCHANGED = "unchanged"
    # It has an error, so nothing would happen to it.
    INVALID = "invalid"


class TenantPreview(Model):
    """What would become of one tenant."""

    name: str
    display_name: str = ""
    file: str = Field(default="", description="Where its manifest stands. Empty where no file has it.")
    line: int = Field(default=0, description="The manifest's first line, from 1.")
    outcome: Outcome
    changes: tuple[ObjectChange, ...] = Field(default=(), description="Object by object, field by field.")
    new_objects: tuple[dict[str, Any], ...] = Field(
        default=(), description="The manifests of objects that are made, in the order of `changes`."
    )
    findings: tuple[Finding, ...] = Field(default=(), description="Errors, warnings and notes.")

    def count(self, *operations: Operation) -> int:
        return sum(change.operation in operations for change in self.changes)


class Preview(Model):
    """What would become of all tenants that were looked at."""

    base: str = Field(description="What the manifests were compared with.")
    tenants: tuple[TenantPreview, ...]
    faults: tuple[Finding, ...] = Field(default=(), description="Documents that can't be read.")
    notes: tuple[str, ...] = Field(default=(), description="What limits what this preview can say.")
    other_documents: int = Field(default=0, description="Documents that are no Tenants.")

    def findings(self, *severities: Severity) -> Iterator[Finding]:
        """Those of documents first, then tenant by tenant."""
        for finding in (*self.faults, *(one for tenant in self.tenants for one in tenant.findings)):
            if finding.severity in severities:
                yield finding

    def of(self, *outcomes: Outcome) -> list[TenantPreview]:
        return [tenant for tenant in self.tenants if tenant.outcome in outcomes]

    @property
    def counts(self) -> dict[str, int]:
        return {outcome.value: len(self.of(outcome)) for outcome in Outcome}

    @property
    def summary(self) -> str:
        """Such as: 2 tenants change, 1 is new, 1 has an error, 14 unchanged."""
        counts = self.counts
        parts: list[str] = []
        for outcome, words in _WORDS.items():
            if number := counts[outcome]:
                noun = "" if parts else (" tenant" if number == 1 else " tenants")
                parts.append(f"{number}{noun} {words[number > 1]}")
        if self.faults:
            number = len(self.faults)
            parts.append(f"{number} document{'s' if number > 1 else ''} can't be read")
        if not any(counts[outcome] for outcome in _WORDS):
            parts.insert(0, "No tenant changes")
        if counts["unchanged"]:
            parts.append(f"{counts['unchanged']} unchanged")
        return ", ".join(parts)

    @property
    def exit_code(self) -> int:
        """0: nothing changes; 2: something does; 1: an error."""
        if any(self.findings(Severity.ERROR)):
            return 1
        return 2 if self.of(Outcome.NEW, Outcome.CHANGED, Outcome.DELETED) else 0

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        head = {"formatVersion": _FORMAT_VERSION, "summary": self.summary, "counts": self.counts}
        return {**head, **self.model_dump(by_alias=True, mode="json")}
