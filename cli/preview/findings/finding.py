"""What a preview says about a change beyond the change itself: errors, warnings, notes. Pure.

Each has a rule, by which CI systems sort them. Whoever knows where the tenant's manifest stands adds the
file and the line.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from pydantic import Field, computed_field

from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.base.model import Model

Objects = Mapping[ObjectKey, Manifest]


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Rule(StrEnum):
    TENANT_DELETED = "tenant-deleted"
    NAMESPACE_REMOVED = "namespace-removed"
    NAMESPACE_RELEASED = "namespace-released"
    NAMESPACE_ADOPTED = "namespace-adopted"
    QUOTA_BELOW_USE = "quota-below-use"
    ACCESS_WIDENED = "access-widened"
    ISOLATION_WIDENED = "isolation-widened"
    POD_SECURITY_LOWERED = "pod-security-lowered"
    PROTECTION_REMOVED = "protection-removed"
    TENANT_PAUSED = "tenant-paused"
    INTEGRATION_MISSING = "integration-missing"
    # Errors: the watcher would refuse the tenant with the reason of the same name.
    INVALID_MANIFEST = "invalid-manifest"
    INVALID_SPEC = "invalid-spec"
    UNKNOWN_PLAN = "unknown-plan"
    NAME_TAKEN = "name-taken"
    NAMESPACE_TAKEN = "namespace-taken"
    HOST_TAKEN = "host-taken"
    OBJECT_TAKEN = "object-taken"
    QUOTA_IN_USE = "quota-in-use"
    TENANT_PROTECTED = "tenant-protected"


RULE_DESCRIPTIONS: Final = {
    Rule.TENANT_DELETED: "A tenant is deleted, and unless they are retained, its namespaces with it.",
    Rule.NAMESPACE_REMOVED: "A namespace is deleted with everything in it.",
    Rule.NAMESPACE_RELEASED: "A namespace leaves its tenant and stays in the cluster.",
    Rule.NAMESPACE_ADOPTED: "A namespace that exists becomes a tenant's.",
    Rule.QUOTA_BELOW_USE: "A quota is lowered below what is used now.",
    Rule.ACCESS_WIDENED: "Somebody may do more than before.",
    Rule.ISOLATION_WIDENED: "Pods may be reached by, or may reach, more than before.",
    Rule.POD_SECURITY_LOWERED: "Pods may do more on their node than before.",
    Rule.PROTECTION_REMOVED: "A tenant that could not be deleted can be.",
    Rule.TENANT_PAUSED: "A paused tenant is left as it is until it goes on.",
    Rule.INTEGRATION_MISSING: "The cluster lacks what a tenant asks for.",
    Rule.INVALID_MANIFEST: "A file or a document in it can't be read.",
    Rule.INVALID_SPEC: "A tenant can't be built as it stands.",
    Rule.UNKNOWN_PLAN: "There is no plan of this name.",
    Rule.NAME_TAKEN: "Two Tenants have the same name.",
    Rule.NAMESPACE_TAKEN: "A namespace is another's, or can't be had.",
    Rule.HOST_TAKEN: "A host is another tenant's.",
    Rule.OBJECT_TAKEN: "An extra object would overwrite one of the tenant's own.",
    Rule.QUOTA_IN_USE: "A namespace uses more than its new share of the tenant's budget.",
    Rule.TENANT_PROTECTED: "A protected tenant can't be deleted.",
}
# All other rules are errors.
WARNINGS: Final = frozenset(
    {
        Rule.TENANT_DELETED,
        Rule.NAMESPACE_REMOVED,
        Rule.QUOTA_BELOW_USE,
        Rule.ACCESS_WIDENED,
        Rule.ISOLATION_WIDENED,
        Rule.POD_SECURITY_LOWERED,
        Rule.PROTECTION_REMOVED,
    }
)
NOTES: Final = frozenset(
    {Rule.NAMESPACE_RELEASED, Rule.NAMESPACE_ADOPTED, Rule.TENANT_PAUSED, Rule.INTEGRATION_MISSING}
)


class Gain(NamedTuple):
    """Something gained in one namespace, in words that are the same for the same gain in another."""

    told: str
    key: ObjectKey


class Finding(Model):
    """One thing to know before a change is made."""

    rule: Rule = Field(description="What kind of thing.")
    tenant: str = Field(default="", description="Whose; empty where a file can't be read at all.")
    object: str = Field(default="", description="The object that it is about, the first of several.")
    message: str = Field(description="A sentence.")
    file: str = Field(default="", description="Where the cause stands. Empty where no file has it.")
    line: int = Field(default=0, description="The line in it, from 1.")

    @computed_field(description="error, warning or note.")  # type: ignore[prop-decorator]
    @property
    def severity(self) -> Severity:
        return severity_of(self.rule)


def severity_of(rule: Rule) -> Severity:
    if rule in WARNINGS:
        return Severity.WARNING
    return Severity.NOTE if rule in NOTES else Severity.ERROR


def rule_for_reason(reason: str) -> Rule:
    """The rule for the reason of an error: NamespaceTaken is namespace-taken."""
    return Rule("".join(f"-{char.lower()}" if char.isupper() else char for char in reason).lstrip("-"))
