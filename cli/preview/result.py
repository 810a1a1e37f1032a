"""The result of a preview. All output formats show this result. No I/O.

`--output json` prints these models with camelCase names: see `cli.preview.formats.json_format`.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, Final

from pydantic import Field

from cli.preview.findings.finding import Finding, Severity
from tenancy.base.model import Model
from tenancy.changes import ObjectChange, Operation

# The words in `summary` for each outcome, in the singular and in the plural.
_SUMMARY_WORDS: Final = {
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
    # The tenant has an error, so the watcher would not apply it.
    INVALID = "invalid"


class TenantPreview(Model):
    """The changes and findings of one tenant."""

    name: str
    display_name: str = ""
    file: str = Field(default="", description="The file of the tenant's manifest. Empty if there is none.")
    line: int = Field(default=0, description="The first line of the manifest. Lines count from 1.")
    outcome: Outcome
    changes: tuple[ObjectChange, ...] = Field(default=(), description="The changed objects and fields.")
    new_objects: tuple[dict[str, Any], ...] = Field(
        default=(), description="The manifests of created objects, in the order of `changes`."
    )
    findings: tuple[Finding, ...] = Field(default=(), description="Errors, warnings and notes.")

    def count(self, *operations: Operation) -> int:
        return sum(change.operation in operations for change in self.changes)


class Preview(Model):
    """The previews of all tenants."""

    base: str = Field(description="The state that the manifests are compared with.")
    tenants: tuple[TenantPreview, ...]
    faults: tuple[Finding, ...] = Field(
        default=(), description="Errors in files that are not errors of a known tenant."
    )
    notes: tuple[str, ...] = Field(default=(), description="Notes about parts that were not compared.")
    other_documents: int = Field(default=0, description="The number of documents that are not Tenants.")

    def findings(self, *severities: Severity) -> Iterator[Finding]:
        """The findings with these severities. Errors in files come before the findings about tenants."""
        tenant_findings = (finding for tenant in self.tenants for finding in tenant.findings)
        for finding in (*self.faults, *tenant_findings):
            if finding.severity in severities:
                yield finding

    def with_outcome(self, *outcomes: Outcome) -> list[TenantPreview]:
        return [tenant for tenant in self.tenants if tenant.outcome in outcomes]

    @property
    def counts(self) -> dict[str, int]:
        return {outcome.value: len(self.with_outcome(outcome)) for outcome in Outcome}

    @property
    def summary(self) -> str:
        """The counts in words, such as `2 tenants change, 1 is new, 1 has an error, 14 unchanged`."""
        counts = self.counts
        parts: list[str] = []
        for outcome, words in _SUMMARY_WORDS.items():
            if count := counts[outcome]:
                noun = "" if parts else (" tenant" if count == 1 else " tenants")
                parts.append(f"{count}{noun} {words[count > 1]}")
        if self.faults:
            count = len({fault.file for fault in self.faults})
            parts.append(f"{count} {'files have' if count > 1 else 'file has'} errors")
        if not any(counts[outcome] for outcome in _SUMMARY_WORDS):
            parts.insert(0, "No tenant changes")
        if counts["unchanged"]:
            parts.append(f"{counts['unchanged']} unchanged")
        return ", ".join(parts)
