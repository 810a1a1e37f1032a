"""The findings of a preview: errors, warnings and notes about a change. No I/O.

The rule of a finding is its kind, such as `tenant-deleted`. CI systems group findings by rule. The module
`locations` adds the file and the line to a finding.
"""

from enum import StrEnum
from typing import Final, NamedTuple

from pydantic import Field, computed_field

from tenancy.base.manifest import ObjectKey
from tenancy.base.model import Model


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
    ALLOW_LIST_WIDENED = "allow-list-widened"
    PROTECTION_REMOVED = "protection-removed"
    TENANT_PAUSED = "tenant-paused"
    INTEGRATION_MISSING = "integration-missing"
    FIELDS_KEPT = "fields-kept"
    # The following rules are errors. Most of them have the name of a reason of the watcher.
    INVALID_MANIFEST = "invalid-manifest"
    INVALID_SPEC = "invalid-spec"
    UNKNOWN_PLAN = "unknown-plan"
    NAME_TAKEN = "name-taken"
    NAMESPACE_TAKEN = "namespace-taken"
    HOST_TAKEN = "host-taken"
    OBJECT_TAKEN = "object-taken"
    QUOTA_IN_USE = "quota-in-use"
    FIELD_CONFLICT = "field-conflict"
    TENANT_PROTECTED = "tenant-protected"


RULE_DESCRIPTIONS: Final = {
    Rule.TENANT_DELETED: "A tenant is deleted. With deletionPolicy Retain, its namespaces stay.",
    Rule.NAMESPACE_REMOVED: "A namespace is deleted with everything in it.",
    Rule.NAMESPACE_RELEASED: "A namespace is removed from its tenant, but stays with its workloads.",
    Rule.NAMESPACE_ADOPTED: "A tenant adopts an existing namespace.",
    Rule.QUOTA_BELOW_USE: "A quota is lowered below the current usage.",
    Rule.ACCESS_WIDENED: "A user, group or service account gets more permissions.",
    Rule.ISOLATION_WIDENED: "Network policies allow more traffic to or from pods.",
    Rule.POD_SECURITY_LOWERED: "Pods may run with a less strict Pod Security level.",
    Rule.ALLOW_LIST_WIDENED: "An allow list allows more values, such as service types or image registries.",
    Rule.PROTECTION_REMOVED: "A tenant is no longer protected from deletion.",
    Rule.TENANT_PAUSED: "The tenant is paused. The change is applied when the tenant is resumed.",
    Rule.INTEGRATION_MISSING: "The cluster lacks the CRDs of an integration that a tenant uses.",
    Rule.FIELDS_KEPT: "Fields stay, although the manifest does not contain them.",
    Rule.INVALID_MANIFEST: "A file, or a document in a file, is not a valid manifest.",
    Rule.INVALID_SPEC: "The spec of a tenant is invalid.",
    Rule.UNKNOWN_PLAN: "There is no plan with this name.",
    Rule.NAME_TAKEN: "Two Tenants have the same name.",
    Rule.NAMESPACE_TAKEN: "A namespace belongs to another tenant, or cannot be adopted.",
    Rule.HOST_TAKEN: "A host belongs to another tenant.",
    Rule.OBJECT_TAKEN: "An extra object would overwrite an object that the platform does not manage.",
    Rule.QUOTA_IN_USE: "A namespace uses more than its new share of the tenant's budget.",
    Rule.FIELD_CONFLICT: "Another field manager has set a field of the manifest to another value.",
    Rule.TENANT_PROTECTED: "A protected tenant cannot be deleted.",
}
# A rule is an error if it is neither in WARNINGS nor in NOTES.
WARNINGS: Final = frozenset(
    {
        Rule.TENANT_DELETED,
        Rule.NAMESPACE_REMOVED,
        Rule.QUOTA_BELOW_USE,
        Rule.ACCESS_WIDENED,
        Rule.ISOLATION_WIDENED,
        Rule.POD_SECURITY_LOWERED,
        Rule.ALLOW_LIST_WIDENED,
        Rule.PROTECTION_REMOVED,
    }
)
NOTES: Final = frozenset(
    {
        Rule.NAMESPACE_RELEASED,
        Rule.NAMESPACE_ADOPTED,
        Rule.TENANT_PAUSED,
        Rule.INTEGRATION_MISSING,
        Rule.FIELDS_KEPT,
    }
)


class Gain(NamedTuple):
    """Something that a change newly allows in one namespace, such as a permission or network traffic.

    Equal gains in different namespaces have the same text.
    """

    text: str
    # The object that causes the gain.
    key: ObjectKey
    # The kind and name of the user, group or service account that gets a role. Otherwise empty.
    subject: str = ""


class Finding(Model):
    """An error, warning or note about a change."""

    rule: Rule = Field(description="The kind of finding.")
    tenant: str = Field(default="", description="The tenant's name. Empty if a file cannot be read.")
    object: str = Field(default="", description="The first object that the finding is about.")
    subject: str = Field(default="", description="The subject that gets a role, such as `User alice`.")
    field: str = Field(default="", description="The field that causes an error. Empty if it is unknown.")
    message: str = Field(description="The text of the finding.")
    file: str = Field(default="", description="The file that causes the finding. Empty if there is none.")
    line: int = Field(default=0, description="The line in the file. The first line is 1.")

    @computed_field(description="error, warning or note.")  # type: ignore[prop-decorator]
    @property
    def severity(self) -> Severity:
        return severity_of(self.rule)


def severity_of(rule: Rule) -> Severity:
    if rule in WARNINGS:
        return Severity.WARNING
    return Severity.NOTE if rule in NOTES else Severity.ERROR


def rule_for_reason(reason: str) -> Rule:
    """The rule for the reason of an error, such as `namespace-taken` for `NamespaceTaken`.

    Raises ValueError if there is no rule for the reason.
    """
    return Rule("".join(f"-{char.lower()}" if char.isupper() else char for char in reason).lstrip("-"))
