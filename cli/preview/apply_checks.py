"""Runs the checks of `tenancy preview` before `tenancy apply` writes the first Tenant.

If the user lacks the rights for a check, the check is skipped. A note then names the check and the missing
right.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cli.apply.field_ownership import ApplyMethod
from cli.connection import Connection
from cli.manifests.read import ManifestSet, TenantDocument
from cli.preview.compare import Comparison
from cli.preview.comparison_base import readable_base
from cli.preview.findings.finding import Finding, Rule, Severity
from cli.preview.findings.locations import error_findings
from cli.preview.manifest_checks import manifest_findings
from cli.preview.predictions import Predict, predictions_on
from cli.rights.permissions import Right
from cli.rights.reader import READ_CRDS, READ_PLANS, Reader
from cluster.errors import ClusterError
from cluster.tenants import known_namespaces
from tenancy.base.errors import Rejection
from tenancy.base.kinds import NAMESPACE, TENANTS, kind_of
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import PLANS_CONFIG_MAP, SYSTEM_NAMESPACE
from tenancy.spec.tenant import tenant_from_manifest

_DESTRUCTIVE: Final = frozenset({Rule.NAMESPACE_REMOVED})


@dataclass(frozen=True)
class Checks:
    """The result of the checks.

    `live` contains the live Tenant of each document, in the order of the documents. An item is None if the
    live Tenant does not exist. `findings` contains the errors, warnings and notes of all checks.
    """

    live: tuple[Manifest | None, ...]
    findings: tuple[Finding, ...]
    # The checks that were skipped, with the missing right.
    notes: tuple[str, ...] = ()
    # The Tenants that result if the documents are applied, in the same order. Empty if there are errors.
    predicted: tuple[Manifest, ...] = ()

    def of(self, severity: Severity) -> list[Finding]:
        return [finding for finding in self.findings if finding.severity is severity]

    @property
    def destructive(self) -> list[Finding]:
        """The findings about changes that delete data, such as a removed namespace."""
        return [finding for finding in self.findings if finding.rule in _DESTRUCTIVE]


def checks_before_apply(connection: Connection, manifests: ManifestSet, method: ApplyMethod) -> Checks:
    """Run all checks that the user's rights allow. Writes nothing.

    If a request to the cluster fails and some manifests are invalid, the result contains only the errors in
    the manifests. If all manifests are valid, the function raises the ClusterError.
    """
    local = manifest_findings(manifests)
    try:
        return _cluster_checks(connection, manifests, method, local)
    except ClusterError:
        if not local:
            raise
        return Checks((), tuple(local))


def _cluster_checks(
    connection: Connection, manifests: ManifestSet, method: ApplyMethod, local: list[Finding]
) -> Checks:
    reader, documents = Reader(connection), manifests.tenants
    live = tuple(connection.cluster.get(kind_of(document.manifest), document.name) for document in documents)
    plans = reader.plans()
    base = readable_base(reader, [tenant for tenant in live if tenant is not None])
    # The dry run of `tenancy apply` needs the same right as the command itself.
    base = replace(base, patchable=frozenset(TENANTS))
    predict, notes = predictions_on(base, method), tuple(_notes(reader.missing))
    if plans is None:
        findings = local or list(_without_plans(documents, predict))
    else:
        preview = Comparison(plans, base, predict).preview(manifests, is_complete=False)
        findings = list(preview.findings(*Severity))
    if any(finding.severity is Severity.ERROR for finding in findings):
        return Checks(live, tuple(findings), notes)
    predicted = tuple(predict(document).tenant for document in documents)
    if NAMESPACE.key in base.unreadable:
        findings += [finding for tenant in predicted for finding in _removed_by_spec(tenant)]
    return Checks(live, tuple(findings), notes, predicted)


def _notes(missing: Sequence[Right]) -> Iterator[str]:
    """A note for each check that is skipped. The note names the missing right."""
    if READ_PLANS in missing:
        yield (
            "plans, quotas, namespaces and hosts are not checked: you cannot get the ConfigMap "
            f"{SYSTEM_NAMESPACE}/{PLANS_CONFIG_MAP}"
        )
    if any(right.kind in TENANTS for right in missing):
        yield "names and hosts of other tenants are not checked: you cannot list Tenants"
    if READ_CRDS in missing:
        yield "the CRDs of integrations are not checked: you cannot get CustomResourceDefinitions"
    kinds = {right.kind.key for right in missing if right.verb == "list" and right.kind not in TENANTS}
    if kinds:
        yield f"the effect on live objects is not checked: you cannot list {', '.join(sorted(kinds))}"


def _without_plans(documents: Sequence[TenantDocument], predict: Predict) -> Iterator[Finding]:
    """The errors that can be found without the plans: field conflicts, and rejections by the API server."""
    for document in documents:
        try:
            predict(document)
        except Rejection as error:
            yield from error_findings(error, document)


def _removed_by_spec(tenant: Manifest) -> Iterator[Finding]:
    """A finding for each namespace that is in the status of the live Tenant, but not in the new spec."""
    new = tenant_from_manifest(tenant)
    for name in known_namespaces(tenant):
        if name not in new.namespaces():
            message = f"namespace {name} is removed from the tenant, and deleted unless it is retained"
            yield Finding(rule=Rule.NAMESPACE_REMOVED, tenant=new.name, message=message)
