"""The comparison: what each given tenant would change, and what is wrong with it.

The checks are the watcher's own, in the order in which it makes them. One tenant's error leaves the others
as they are.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from cli.connection import Objects
from cli.manifests import ManifestSet, TenantDocument
from cli.preview.comparison_base import Base
from cli.preview.deleted_tenant import deleted_tenant_preview
from cli.preview.findings.finding import Finding, Rule
from cli.preview.findings.locations import error_finding, placed
from cli.preview.findings.warnings import change_warnings
from cli.preview.result import Outcome, Preview, TenantPreview
from cli.preview.tenant_fields import tenant_changes
from cluster.facts import read_facts
from cluster.tenants import is_deleting, known_hosts, known_namespaces
from tenancy.base.errors import NameTaken, Rejection
from tenancy.base.kinds import NAMESPACE
from tenancy.base.manifest import Manifest
from tenancy.changes import ObjectChange, Operation, object_changes
from tenancy.claims import Claims
from tenancy.decision import Facts
from tenancy.desired import DesiredState
from tenancy.plans import Plans
from tenancy.spec.tenant import Tenant


class Comparison:
    """One preview. Claims are taken tenant by tenant, so that a clash is found once."""

    def __init__(self, plans: Plans, base: Base) -> None:
        self._plans = plans
        self._base = base
        self._claims = Claims()
        self._seen: dict[str, TenantDocument] = {}
        self._not_compared: Counter[str] = Counter()

    def preview(self, given: ManifestSet, is_complete: bool) -> Preview:
        """`is_complete`: tenants that the base has and nobody gives are deleted."""
        base = self._base
        names = {one.name for one in given.tenants}
        notes = list(base.notes)
        if is_complete and given.faults:
            notes.append("what can't be read may be tenants, so none counts as deleted")
        is_told = is_complete and not given.faults
        gone = [
            name
            for name, tenant in base.tenants.items()
            if is_told and name not in names and not is_deleting(tenant)
        ]
        for name in base.tenants.keys() - {one.name for one in given.tenants if self._is_known(one)}:
            if name not in gone:
                self._leave(name)
        # Who is there already has the better claim.
        ordered = sorted(given.tenants, key=lambda one: not self._is_known(one))
        found = [*map(self._of, ordered), *(deleted_tenant_preview(base, name) for name in gone)]
        notes += [
            f"{count} × {kind} not compared: these rights don't allow reading them"
            for kind, count in sorted(self._not_compared.items())
        ]
        return Preview(
            base=base.told,
            tenants=tuple(sorted(found, key=lambda one: (one.name, one.file, one.line))),
            faults=tuple(
                Finding(rule=Rule.INVALID_MANIFEST, message=fault.problem, file=fault.file, line=fault.line)
                for fault in given.faults
            ),
            notes=tuple(notes),
            other_documents=given.others,
        )

    def _is_known(self, given: TenantDocument) -> bool:
        there = self._base.tenants.get(given.name)
        return there is not None and there["apiVersion"] == given.manifest["apiVersion"]

    def _leave(self, name: str) -> None:
        """What a tenant has now that stays as it is, nobody else can have."""
        if there := self._base.tenants.get(name):
            self._claims.remember(name, known_namespaces(there), known_hosts(there))

    def _of(self, given: TenantDocument) -> TenantPreview:
        spec = given.manifest.get("spec")
        shown = spec.get("displayName") if isinstance(spec, dict) else None
        result = TenantPreview(
            name=given.name,
            display_name=shown if isinstance(shown, str) else "",
            file=given.file,
            line=given.line,
            outcome=Outcome.INVALID,
        )
        try:
            self._check_name(given)
            facts = self._facts(given)
            tenant, whole = self._claims.decide_and_reserve(given.manifest, facts)
        except Rejection as error:
            self._leave(given.name)
            return result.model_copy(update={"findings": (error_finding(error, given),)})
        desired, before = self._readable(whole), self._live_objects(given, facts)
        changes = (
            *tenant_changes(tenant, self._base.tenants.get(given.name)),
            *object_changes(desired, before),
        )
        was_protected = given.name in self._base.protected
        findings = [
            *change_warnings(desired, changes, before, was_protected),
            *_notes(tenant, desired, changes),
        ]
        return result.model_copy(
            update={
                "outcome": self._outcome(given.name, changes),
                "changes": changes,
                "new_objects": tuple(_made(desired, changes)),
                "findings": tuple(placed(finding, given) for finding in findings),
            }
        )

    def _outcome(self, name: str, changes: tuple[ObjectChange, ...]) -> Outcome:
        if name not in self._base.tenants:
            return Outcome.NEW
        return Outcome.CHANGED if changes else Outcome.UNCHANGED

    def _check_name(self, given: TenantDocument) -> None:
        twin = self._seen.setdefault(given.name, given)
        if twin is not given:
            raise NameTaken("metadata.name", f"given in {twin.file}:{twin.line} too; a name is one tenant's")
        there = self._base.tenants.get(given.name)
        if there is not None and not self._is_known(given):
            raise NameTaken(
                "metadata.name", f"taken by the {there['apiVersion']} Tenant of this name, which is older"
            )

    def _facts(self, given: TenantDocument) -> Facts:
        """The facts of the base. Without a cluster, only clashes among the tenants themselves are known."""
        base = self._base
        if base.cluster is None:
            return Facts(self._plans, base.served)
        own = base.objects.get(given.name, {})
        # The file has no status: the live Tenant says which namespaces are its own.
        manifest = {**given.manifest, "status": base.tenants.get(given.name, {}).get("status")}
        facts = read_facts(base.cluster, manifest, self._plans, base.served, own, base.unreadable)
        return replace(facts, quotas=own)

    def _live_objects(self, given: TenantDocument, facts: Facts) -> Objects:
        """The tenant's live objects, with the namespaces that it adopts."""
        adopted = {key: live for key, live in facts.live.items() if live and key.kind == NAMESPACE.kind}
        return {**adopted, **self._base.objects.get(given.name, {})}

    def _readable(self, desired: DesiredState) -> DesiredState:
        """Without the kinds of which the base knows nothing."""
        unreadable = self._base.unreadable
        left_out = [key for key in desired.by_key if key.kind in unreadable]
        if not left_out:
            return desired
        self._not_compared.update(key.kind for key in left_out)
        kept = tuple(one for key, one in desired.by_key.items() if key.kind not in unreadable)
        return replace(desired, manifests=kept)


def _notes(tenant: Tenant, desired: DesiredState, changes: Iterable[ObjectChange]) -> Iterable[Finding]:
    if not changes:
        return
    if tenant.spec.paused:
        told = "the tenant is paused: its objects stay as they are until it goes on"
        yield Finding(rule=Rule.TENANT_PAUSED, tenant=tenant.name, message=told)
    if desired.missing:
        told = f"the cluster lacks what the tenant asks for: {desired.missing_text}"
        yield Finding(rule=Rule.INTEGRATION_MISSING, tenant=tenant.name, message=told)


def _made(desired: DesiredState, changes: Iterable[ObjectChange]) -> Iterable[Manifest]:
    return (desired.by_key[one.key] for one in changes if one.operation is Operation.CREATE)
