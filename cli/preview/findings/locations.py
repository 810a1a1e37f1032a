"""Where in its manifest the cause of a finding stands, as well as can be told. Pure."""

from collections.abc import Iterator
from typing import Final

from cli.manifests import TenantDocument
from cli.preview.findings.finding import Finding, Rule, rule_for_reason
from tenancy.base.errors import Rejection
from tenancy.base.manifest import Manifest

# The first of these that is given is the cause; what no field says is the plan's.
_FIELDS: Final = {
    Rule.NAMESPACE_REMOVED: ("spec.namespaces", "spec.name"),
    Rule.NAMESPACE_RELEASED: ("spec.namespaces", "spec.name"),
    Rule.NAMESPACE_ADOPTED: ("spec.adopt",),
    Rule.QUOTA_BELOW_USE: ("spec.resourceQuotas", "spec.quotas", "spec.plan"),
    Rule.QUOTA_IN_USE: ("spec.resourceQuotas", "spec.quotas", "spec.namespaces", "spec.plan"),
    Rule.ACCESS_WIDENED: ("spec.roles", "spec.plan"),
    Rule.ISOLATION_WIDENED: ("spec.network", "spec.istio", "spec.plan"),
    Rule.POD_SECURITY_LOWERED: ("spec.podSecurity", "spec.plan"),
    Rule.PROTECTION_REMOVED: ("spec.protected", "spec.plan"),
    Rule.TENANT_PAUSED: ("spec.paused",),
    Rule.INTEGRATION_MISSING: ("spec.istio", "spec.gatekeeper", "spec.hnc", "spec.plan"),
}
_ROOTS: Final = ("spec", "metadata", "apiVersion")


def placed(finding: Finding, given: TenantDocument) -> Finding:
    """The finding with file and line of what causes it."""
    fields = (*_subject_fields(finding, given.manifest), *_FIELDS.get(finding.rule, ("metadata.name",)))
    return finding.model_copy(update={"file": given.file, "line": given.line_of(*fields)})


def error_finding(error: Rejection, given: TenantDocument) -> Finding:
    """A rejection as a finding, at the line of the field that causes it."""
    rule = rule_for_reason(error.reason)
    is_in_manifest = error.field.startswith(_ROOTS)
    fields = (error.field,) if is_in_manifest else _FIELDS.get(rule, ("spec.plan", "metadata.name"))
    return Finding(
        rule=rule, tenant=given.name, message=str(error), file=given.file, line=given.line_of(*fields)
    )


def _subject_fields(finding: Finding, manifest: Manifest) -> Iterator[str]:
    """Whoever gains access is named in one of the spec's lists."""
    if finding.rule is not Rule.ACCESS_WIDENED:
        return
    who = finding.message.partition(" becomes ")[0]
    spec = manifest.get("spec") or {}
    more = spec.get("rbacConfig") or {}
    for path, kind, names in (
        ("spec.adminUsers", "User", spec.get("adminUsers")),
        ("spec.rbacConfig.users", "User", more.get("users")),
        ("spec.rbacConfig.groups", "Group", more.get("groups")),
        ("spec.rbacConfig.serviceAccounts", "ServiceAccount", more.get("serviceAccounts")),
    ):
        yield from (f"{path}[{index}]" for index, name in enumerate(names or ()) if f"{kind} {name}" == who)
    for index, access in enumerate(spec.get("access") or ()):
        home = f"{access['namespace']}/" if access.get("namespace") else ""
        if f"{access['kind']} {home}{access['name']}" == who:
            yield f"spec.access[{index}]"
