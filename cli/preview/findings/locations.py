"""Finds the line in a manifest that causes a finding. No I/O."""

from collections.abc import Iterator
from typing import Final

from cli.manifests.read import TenantDocument
from cli.preview.findings.finding import Finding, Rule, rule_for_reason
from tenancy.base.errors import Rejection
from tenancy.base.manifest import Manifest

_ALLOW_LISTS: Final = (
    *("spec.registries", "spec.imagePullPolicies", "spec.serviceTypes", "spec.storageClasses"),
    *("spec.ingressClasses", "spec.gatewayClasses", "spec.priorityClasses", "spec.runtimeClasses"),
    "spec.hostnames",
)
# The fields that can cause a finding, by rule. The first field that the manifest contains is the cause.
# If the plan can set the other fields of a rule, `spec.plan` is the last field.
_FIELDS: Final = {
    Rule.NAMESPACE_REMOVED: ("spec.namespaces", "spec.name"),
    Rule.NAMESPACE_RELEASED: ("spec.namespaces", "spec.name"),
    Rule.NAMESPACE_ADOPTED: ("spec.adopt",),
    Rule.QUOTA_BELOW_USE: ("spec.resourceQuotas", "spec.quotas", "spec.plan"),
    Rule.QUOTA_IN_USE: ("spec.resourceQuotas", "spec.quotas", "spec.namespaces", "spec.plan"),
    Rule.ACCESS_WIDENED: ("spec.roles", "spec.plan"),
    Rule.ISOLATION_WIDENED: ("spec.network", "spec.istio", "spec.plan"),
    Rule.POD_SECURITY_LOWERED: ("spec.podSecurity", "spec.plan"),
    Rule.ALLOW_LIST_WIDENED: (*_ALLOW_LISTS, "spec.plan"),
    Rule.PROTECTION_REMOVED: ("spec.protected", "spec.plan"),
    Rule.TENANT_PAUSED: ("spec.paused",),
    Rule.INTEGRATION_MISSING: ("spec.istio", "spec.gatekeeper", "spec.hnc", "spec.plan"),
}
_ROOTS: Final = ("spec", "metadata", "apiVersion")


def placed(finding: Finding, document: TenantDocument) -> Finding:
    """A copy of the finding with the file and the line of the field that causes it."""
    fields = (*_subject_fields(finding, document.manifest), *_FIELDS.get(finding.rule, ("metadata.name",)))
    return finding.model_copy(update={"file": document.file, "line": document.line_of(*fields)})


def error_findings(error: Rejection, document: TenantDocument) -> list[Finding]:
    """A finding for each rejection in `error`, with the line of the field that causes the rejection."""
    return [error_finding(rejection, document) for rejection in error.each]


def error_finding(error: Rejection, document: TenantDocument) -> Finding:
    """A finding for `error` itself, with the line of the field that causes it. Ignores `error.others`."""
    rule = rule_for_reason(error.reason)
    is_in_manifest = rule is Rule.INVALID_MANIFEST or error.field.startswith(_ROOTS)
    fields = (error.field,) if is_in_manifest else _FIELDS.get(rule, ("spec.plan", "metadata.name"))
    return Finding(
        rule=rule,
        tenant=document.name,
        field=error.field,
        message=error.text,
        file=document.file,
        line=document.line_of(*fields),
    )


def _subject_fields(finding: Finding, manifest: Manifest) -> Iterator[str]:
    """The paths of the fields that contain the finding's subject, such as `spec.adminUsers[0]`."""
    if not finding.subject:
        return
    spec = manifest.get("spec") or {}
    rbac_config = spec.get("rbacConfig") or {}
    for path, kind, names in (
        ("spec.adminUsers", "User", spec.get("adminUsers")),
        ("spec.rbacConfig.users", "User", rbac_config.get("users")),
        ("spec.rbacConfig.groups", "Group", rbac_config.get("groups")),
        ("spec.rbacConfig.serviceAccounts", "ServiceAccount", rbac_config.get("serviceAccounts")),
    ):
        for index, name in enumerate(names or ()):
            if f"{kind} {name}" == finding.subject:
                yield f"{path}[{index}]"
    for index, access in enumerate(spec.get("access") or ()):
        prefix = f"{access['namespace']}/" if access.get("namespace") else ""
        if f"{access['kind']} {prefix}{access['name']}" == finding.subject:
            yield f"spec.access[{index}]"
