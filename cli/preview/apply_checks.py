"""Makes the checks of a preview before `tenancy apply` writes the first Tenant.

A user may have rights on Tenants only. Checks that need other rights are then skipped. The notes list these
checks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from cli.apply.field_ownership import ApplyMethod
from cli.connection import Connection
from cli.manifests import ManifestSet, TenantDocument
from cli.preview.compare import Comparison
from cli.preview.comparison_base import Base, tenants_by_name
from cli.preview.findings.finding import Finding, Rule, Severity
from cli.preview.findings.locations import error_findings
from cli.preview.manifest_checks import manifest_findings
from cli.preview.predictions import Predict, predictions_on
from cluster.errors import ClusterError
from cluster.tenants import known_namespaces, read_tenants
from tenancy.base.errors import Rejection
from tenancy.base.kinds import MANAGED_KINDS, NAMESPACE, TENANTS, Kind, kind_of
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import PLANS_CONFIG_MAP, SYSTEM_NAMESPACE
from tenancy.objects.integrations import ALL_INTEGRATION_KINDS
from tenancy.plans import Plans
from tenancy.spec.tenant import tenant_from_manifest

_DESTRUCTIVE: Final = frozenset({Rule.NAMESPACE_REMOVED})


@dataclass(frozen=True)
class Checks:
    """The live Tenants of the documents, in the same order, and the findings of the checks."""

    live: tuple[Manifest | None, ...]
    findings: tuple[Finding, ...]
    # The checks that were skipped, with the missing right.
    notes: tuple[str, ...] = ()
    # The Tenants that result from the documents, in the same order. Empty if there are errors.
    predicted: tuple[Manifest, ...] = ()

    def of(self, severity: Severity) -> list[Finding]:
        return [finding for finding in self.findings if finding.severity is severity]

    @property
    def destructive(self) -> list[Finding]:
        """The findings about changes that delete something that cannot be restored."""
        return [finding for finding in self.findings if finding.rule in _DESTRUCTIVE]


def checks_before_apply(connection: Connection, manifests: ManifestSet, method: ApplyMethod) -> Checks:
    """Make all checks that the user's rights allow. Writes nothing.

    If the cluster cannot be read, but manifests are invalid, the result contains only the errors of the
    manifests.
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
    notes: list[str] = []
    documents = manifests.tenants
    live = tuple(connection.cluster.get(kind_of(document.manifest), document.name) for document in documents)
    plans = _readable_plans(connection, notes)
    base = _readable_base(connection, live, notes)
    predict = predictions_on(base, method)
    if plans is None:
        findings = local or list(_without_plans(documents, predict))
    else:
        preview = Comparison(plans, base, predict).preview(manifests, is_complete=False)
        findings = list(preview.findings(*Severity))
    if any(finding.severity is Severity.ERROR for finding in findings):
        return Checks(live, tuple(findings), tuple(notes))
    predicted = tuple(predict(document).tenant for document in documents)
    if NAMESPACE.key in base.unreadable:
        findings += [finding for tenant in predicted for finding in _removed_by_spec(tenant)]
    return Checks(live, tuple(findings), tuple(notes), predicted)


def _readable_plans(connection: Connection, notes: list[str]) -> Plans | None:
    """The plans in force, or None if the user may not read them."""
    try:
        return connection.plans()
    except ClusterError as error:
        if not error.is_forbidden:
            raise
    notes.append(
        "plans, quotas, namespaces and hosts are not checked: you may not get the ConfigMap "
        f"{SYSTEM_NAMESPACE}/{PLANS_CONFIG_MAP}"
    )
    return None


def _readable_base(connection: Connection, live: Sequence[Manifest | None], notes: list[str]) -> Base:
    """The parts of the cluster that the user may read."""
    cluster, unreadable = connection.cluster, set[str]()
    try:
        tenants = read_tenants(cluster)
    except ClusterError as error:
        if not error.is_forbidden:
            raise
        tenants = [tenant for tenant in live if tenant is not None]
        notes.append("names and hosts of other tenants are not checked: you may not list Tenants")
    kinds: tuple[Kind, ...] = MANAGED_KINDS
    try:
        served = connection.served
        kinds = (*MANAGED_KINDS, *served)
    except ClusterError as error:
        if not error.is_forbidden:
            raise
        served = frozenset(ALL_INTEGRATION_KINDS)
        notes.append("the CRDs of integrations are not checked: you may not get CustomResourceDefinitions")
    objects = connection.live_objects_by_tenant(unreadable, (), kinds)
    if unreadable:
        names = ", ".join(sorted(unreadable))
        notes.append(f"the effect on live objects is not checked: you may not list {names}")
    return Base(
        "the cluster as it is",
        served,
        tenants_by_name(tenants),
        objects,
        unreadable=frozenset(unreadable),
        cluster=cluster,
        # The dry run of `tenancy apply` needs the same right as the command itself.
        patchable=frozenset(TENANTS),
    )


def _without_plans(documents: Sequence[TenantDocument], predict: Predict) -> Iterator[Finding]:
    """The errors that can be found without the plans: conflicts, and rejections by the API server."""
    for document in documents:
        try:
            predict(document)
        except Rejection as error:
            yield from error_findings(error, document)


def _removed_by_spec(tenant: Manifest) -> Iterator[Finding]:
    """Findings about namespaces that are in the status of the live Tenant, but not in the new spec."""
    new = tenant_from_manifest(tenant)
    for name in known_namespaces(tenant):
        if name not in new.namespaces():
            message = f"namespace {name} is removed from the tenant, and deleted unless it is retained"
            yield Finding(rule=Rule.NAMESPACE_REMOVED, tenant=new.name, message=message)
