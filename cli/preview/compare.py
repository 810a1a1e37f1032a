"""Compares Tenant manifests with a base, and finds the changes and the errors of each tenant.

The base is the live cluster, a git revision, or empty. The comparison runs the same checks as the watcher, in
the same order. An error in one tenant does not affect the other tenants.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from cli.apply.write_tenant import Prediction
from cli.manifests.read import ManifestSet, TenantDocument
from cli.preview.comparison_base import Base
from cli.preview.deleted_tenant import deleted_tenant_preview
from cli.preview.findings.finding import Finding, Rule
from cli.preview.findings.locations import error_findings, placed
from cli.preview.findings.warnings import change_warnings, new_tenant_warnings
from cli.preview.manifest_checks import check_name_is_new, fault_findings
from cli.preview.predictions import Predict, known_tenant, predictions_on
from cli.preview.result import Outcome, Preview, TenantPreview
from cli.preview.tenant_fields import tenant_changes
from cluster.facts import read_facts
from cluster.tenants import known_hosts, known_namespaces
from tenancy.base.errors import Rejection, combined, rejections_of
from tenancy.base.kinds import NAMESPACE
from tenancy.base.manifest import Manifest, Objects, is_deleting
from tenancy.changes import ObjectChange, Operation, object_changes
from tenancy.decision import Facts, decide, parsed_tenant
from tenancy.desired import DesiredState
from tenancy.plans import Plans
from tenancy.reservations import Reservations
from tenancy.same_name_in_both_groups import name_taken
from tenancy.spec.tenant import TenantModel


class Comparison:
    """Compares manifests with a base, such as the live cluster. Create a new instance for each preview.

    Tenants are processed one after the other, and each tenant reserves its namespaces and hosts. If two
    tenants need the same namespace or host, only the second tenant gets an error.
    """

    def __init__(self, plans: Plans, base: Base, predict: Predict | None = None) -> None:
        """`predict` returns the Tenant that would result if a manifest were applied.

        The default is `predictions_on(base)`.
        """
        self._plans = plans
        self._base = base
        self._predict = predict or predictions_on(base)
        self._claims = Reservations()
        self._seen: dict[str, TenantDocument] = {}
        self._not_compared: Counter[str] = Counter()

    def preview(self, manifests: ManifestSet, is_complete: bool) -> Preview:
        """The preview of all tenants in the manifests.

        If `is_complete` is true, the preview also contains the deletion of all tenants in the base that have
        no manifest.
        """
        base = self._base
        notes = list(base.notes)
        if is_complete and manifests.faults:
            notes.append("some documents can't be read, so tenants without a manifest don't count as deleted")
        finds_deleted = is_complete and not manifests.faults
        names = {document.name for document in manifests.tenants}
        deleted = [
            name
            for name, tenant in base.tenants.items()
            if finds_deleted and name not in names and not is_deleting(tenant)
        ]
        known = {document.name for document in manifests.tenants if self._is_known(document)}
        for name in base.tenants.keys() - known:
            if name not in deleted:
                self._reserve_current_names(name)
        # Tenants in the base come first, so that a new tenant cannot get their namespaces and hosts.
        ordered = sorted(manifests.tenants, key=lambda document: not self._is_known(document))
        previews = [
            *map(self._tenant_preview, ordered),
            *(deleted_tenant_preview(base, name) for name in deleted),
        ]
        if not base.patchable and any(_depends_on_owners(preview) for preview in previews):
            notes.append(
                "you cannot change Tenants, so the fields that stay and the conflicts are computed from "
                "metadata.managedFields, and not by the API server"
            )
        notes += [
            f"{count} × {kind} not compared: no permission to list them"
            for kind, count in sorted(self._not_compared.items())
        ]
        return Preview(
            base=base.description,
            tenants=tuple(sorted(previews, key=lambda preview: (preview.name, preview.file, preview.line))),
            faults=tuple(fault_findings(manifests.faults)),
            notes=tuple(notes),
            other_documents=manifests.others,
        )

    def _is_known(self, document: TenantDocument) -> bool:
        """Whether the base (the state to compare with) contains this Tenant with the same API version."""
        return known_tenant(self._base, document) is not None

    def _reserve_current_names(self, name: str) -> None:
        """Reserve the namespaces and hosts that the tenant has in the base. Other tenants cannot get them."""
        if base_tenant := self._base.tenants.get(name):
            self._claims.remember(name, known_namespaces(base_tenant), known_hosts(base_tenant))

    def _tenant_preview(self, document: TenantDocument) -> TenantPreview:
        spec = document.manifest.get("spec")
        display_name = spec.get("displayName") if isinstance(spec, dict) else None
        result = TenantPreview(
            name=document.name,
            display_name=display_name if isinstance(display_name, str) else "",
            file=document.file,
            line=document.line,
            outcome=Outcome.INVALID,
        )
        try:
            self._check(document)
            prediction = self._predict(document)
            facts = self._facts(document.name, prediction.tenant)
            tenant, full_state = self._claims.decide_and_reserve(prediction.tenant, facts)
        except Rejection as error:
            self._reserve_current_names(document.name)
            return result.model_copy(update={"findings": tuple(error_findings(error, document))})
        desired, live_objects = self._drop_unreadable(full_state), self._live_objects(document.name, facts)
        changes = (
            *tenant_changes(tenant, self._base.tenants.get(document.name)),
            *object_changes(desired, live_objects),
        )
        was_protected = document.name in self._base.protected
        findings = [
            *change_warnings(desired, changes, live_objects, was_protected),
            *(() if document.name in self._base.tenants else new_tenant_warnings(tenant)),
            *_notes(tenant, desired, changes),
            *_kept_fields(tenant.name, prediction),
        ]
        return result.model_copy(
            update={
                "outcome": self._outcome(document.name, changes),
                "changes": changes,
                "new_objects": tuple(_created_objects(desired, changes)),
                "findings": tuple(placed(finding, document) for finding in findings),
            }
        )

    def _outcome(self, name: str, changes: tuple[ObjectChange, ...]) -> Outcome:
        if name not in self._base.tenants:
            return Outcome.NEW
        return Outcome.CHANGED if changes else Outcome.UNCHANGED

    def _check(self, document: TenantDocument) -> None:
        """Run the checks that do not need the tenant's live objects. Raises one Rejection with all errors."""
        manifest, plans = document.manifest, self._plans
        if errors := rejections_of(partial(self._check_name, document), document.check):
            facts = Facts(plans, self._base.served)
            raise combined([*errors, *rejections_of(partial(decide, manifest, facts))])
        parsed_tenant(manifest, plans)

    def _check_name(self, document: TenantDocument) -> None:
        """Check that the tenant's name is unique.

        Raises NameTaken if another document has the same name, or if the base has a Tenant with this name and
        another API version.
        """
        check_name_is_new(document, self._seen)
        base_tenant = self._base.tenants.get(document.name)
        if base_tenant is not None and not self._is_known(document):
            raise name_taken(base_tenant)

    def _facts(self, name: str, tenant: Manifest) -> Facts:
        """The data about the base that the watcher's checks need, such as the owners of live namespaces.

        If the base is not a cluster, there is no such data. The checks then find only conflicts between the
        tenants in the manifests.
        """
        base = self._base
        if base.cluster is None:
            return Facts(self._plans, base.served)
        own_objects = base.objects.get(name, {})
        # An earlier Tenant of this name may have left namespaces. A new Tenant does not own them yet.
        own = {key for key in own_objects if name in base.tenants or key.kind != NAMESPACE.kind}
        facts = read_facts(base.cluster, tenant, self._plans, base.served, own, base.unreadable)
        return replace(facts, quotas=own_objects)

    def _live_objects(self, name: str, facts: Facts) -> Objects:
        """The objects that the tenant has in the base, and the live namespaces that it adopts."""
        adopted = {key: live for key, live in facts.live.items() if live and key.kind == NAMESPACE.kind}
        return {**adopted, **self._base.objects.get(name, {})}

    def _drop_unreadable(self, desired: DesiredState) -> DesiredState:
        """The desired state without the kinds that the user cannot list. Counts the removed objects."""
        unreadable = self._base.unreadable
        self._not_compared.update(key.kind for key in desired.by_key if key.kind in unreadable)
        return desired.without(unreadable)


def _notes(tenant: TenantModel, desired: DesiredState, changes: Iterable[ObjectChange]) -> Iterable[Finding]:
    if not changes:
        return
    if tenant.spec.paused:
        message = "the tenant is paused; its objects change only after the tenant is resumed"
        yield Finding(rule=Rule.TENANT_PAUSED, tenant=tenant.name, message=message)
    if desired.missing:
        message = f"the cluster lacks CRDs that the tenant needs: {desired.missing_text}"
        yield Finding(rule=Rule.INTEGRATION_MISSING, tenant=tenant.name, message=message)


def _depends_on_owners(preview: TenantPreview) -> bool:
    """Whether the preview has a finding that depends on the field managers of the live Tenant."""
    return any(finding.rule in (Rule.FIELDS_KEPT, Rule.FIELD_CONFLICT) for finding in preview.findings)


def _kept_fields(tenant: str, prediction: Prediction) -> Iterable[Finding]:
    if prediction.kept:
        message = (
            f"these fields stay, although the manifest does not contain them: {', '.join(prediction.kept)}; "
            "`tenancy apply --force-conflicts` removes them"
        )
        yield Finding(rule=Rule.FIELDS_KEPT, tenant=tenant, message=message)


def _created_objects(desired: DesiredState, changes: Iterable[ObjectChange]) -> Iterable[Manifest]:
    return (desired.by_key[change.key] for change in changes if change.operation is Operation.CREATE)
