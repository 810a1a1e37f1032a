"""Makes the checks of a preview before `tenancy apply` writes the first Tenant.

A user may have rights on Tenants only. Checks that need other rights are then skipped. The notes list these
checks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cli.apply.field_ownership import ApplyMethod
from cli.connection import Connection
from cli.manifests import ManifestError, ManifestSet, TenantDocument
from cli.permissions import Right
from cli.preview.compare import Comparison, prediction_on
from cli.preview.comparison_base import Base, readable_base
from cli.preview.findings.finding import Finding, Rule, Severity
from cli.preview.findings.locations import error_finding
from cli.reader import READ_CRDS, READ_PLANS, Reader
from cluster.tenants import known_namespaces
from tenancy.base.errors import InvalidSpec, Rejection
from tenancy.base.kinds import NAMESPACE, TENANTS, kind_of
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import PLANS_CONFIG_MAP, SYSTEM_NAMESPACE
from tenancy.spec.tenant import tenant_from_manifest

_DESTRUCTIVE: Final = frozenset({Rule.NAMESPACE_REMOVED})


@dataclass(frozen=True)
class Checks:
    """The live Tenants of the documents, in the same order, and the findings of the checks."""

    live: tuple[Manifest | None, ...]
    findings: tuple[Finding, ...]
    # The checks that were skipped, with the missing right.
    notes: tuple[str, ...] = ()

    def of(self, severity: Severity) -> list[Finding]:
        return [finding for finding in self.findings if finding.severity is severity]

    @property
    def destructive(self) -> list[Finding]:
        """The findings about changes that delete something that cannot be restored."""
        return [finding for finding in self.findings if finding.rule in _DESTRUCTIVE]


def check_manifests(documents: Sequence[TenantDocument]) -> None:
    """Validate the specs like the watcher does.

    Raises ManifestError for the first invalid spec or repeated name.
    """
    by_key: dict[tuple[str, str], TenantDocument] = {}
    for document in documents:
        key = (document.manifest["apiVersion"], document.name)
        if key in by_key:
            first = by_key[key]
            problem = (
                f"metadata.name: the Tenant {document.name!r} is also in {first.file}:{first.line}; remove "
                "one of the two manifests"
            )
            raise ManifestError(document.file, document.line_of("metadata.name"), problem)
        by_key[key] = document
        try:
            tenant_from_manifest(document.manifest)
        except InvalidSpec as error:
            raise ManifestError(document.file, document.line_of(error.field), str(error)) from None


def checks_before_apply(
    connection: Connection, documents: Sequence[TenantDocument], method: ApplyMethod
) -> Checks:
    """Make all checks that the user's rights allow. Writes nothing."""
    reader = Reader(connection)
    live = tuple(connection.cluster.get(kind_of(document.manifest), document.name) for document in documents)
    plans = reader.plans()
    base = readable_base(reader, [tenant for tenant in live if tenant is not None])
    # The dry run of `tenancy apply` needs the same right as the command itself.
    base = replace(base, patchable=frozenset(TENANTS))
    if plans is None:
        findings = list(_without_plans(base, documents, method))
    else:
        comparison = Comparison(plans, base, method)
        preview = comparison.preview(ManifestSet(tuple(documents), (), 0), is_complete=False)
        findings = list(preview.findings(*Severity))
    if NAMESPACE.key in base.unreadable and not any(
        finding.severity is Severity.ERROR for finding in findings
    ):
        findings += _removed_by_spec(base, documents, method)
    return Checks(live, tuple(findings), tuple(_notes(reader.missing)))


def _notes(missing: Sequence[Right]) -> Iterator[str]:
    """The checks that are skipped, with the missing rights."""
    if READ_PLANS in missing:
        yield (
            "plans, quotas, namespaces and hosts are not checked: you may not get the ConfigMap "
            f"{SYSTEM_NAMESPACE}/{PLANS_CONFIG_MAP}"
        )
    if any(right.kind in TENANTS for right in missing):
        yield "names and hosts of other tenants are not checked: you may not list Tenants"
    if READ_CRDS in missing:
        yield "the CRDs of integrations are not checked: you may not get CustomResourceDefinitions"
    kinds = {right.kind.key for right in missing if right.verb == "list" and right.kind not in TENANTS}
    if kinds:
        yield f"the effect on live objects is not checked: you may not list {', '.join(sorted(kinds))}"


def _without_plans(base: Base, documents: Sequence[TenantDocument], method: ApplyMethod) -> Iterator[Finding]:
    """The errors that can be found without the plans: conflicts, and rejections by the API server."""
    for document in documents:
        try:
            prediction_on(base, document, method)
        except Rejection as error:
            yield error_finding(error, document)


def _removed_by_spec(
    base: Base, documents: Sequence[TenantDocument], method: ApplyMethod
) -> Iterator[Finding]:
    """Findings about namespaces that are in the status of the live Tenant, but not in the new spec."""
    for document in documents:
        tenant = prediction_on(base, document, method).tenant
        new = tenant_from_manifest(tenant)
        for name in known_namespaces(tenant):
            if name not in new.namespaces():
                message = f"namespace {name} is removed from the tenant, and deleted unless it is retained"
                yield Finding(rule=Rule.NAMESPACE_REMOVED, tenant=document.name, message=message)
