"""Reconciles one tenant. Workers call `reconcile` for each tenant that they take from the queue.

`tenancy.decision` accepts or rejects the spec, and `update_needed` selects the next step. `apply` runs
Pulumi, `sweep` deletes surplus objects, and `report` writes the status. `terminate` deletes a tenant.
"""

from collections.abc import Callable
from typing import Final

from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.facts import read_facts
from cluster.live_objects import ManagedObjects
from cluster.plans_in_force import LivePlans
from cluster.tenants import Tenants, known_hosts, known_namespaces
from stacks.errors import StackError
from stacks.stack import Stacks
from tenancy.base.errors import InvalidSpec, TenancyError
from tenancy.base.kinds import NAMESPACE, Kind
from tenancy.base.manifest import Manifest, is_deleting
from tenancy.changes import Differences
from tenancy.decision import Facts
from tenancy.desired import DesiredState
from tenancy.reservations import Reservations
from watcher.reconciler.applied_loader import AppliedLoader
from watcher.reconciler.apply import apply
from watcher.reconciler.contested_objects import ContestedObjects, DriftContested
from watcher.reconciler.drift_repair import RepairFailed, Repairs
from watcher.reconciler.drift_report import current_differences
from watcher.reconciler.last_applied import LastApplied
from watcher.reconciler.report import Reporter
from watcher.reconciler.seen_specs import SeenSpecs
from watcher.reconciler.sweep import USED_HOSTS_S, sweep
from watcher.reconciler.terminate import Terminator
from watcher.reconciler.update_needed import (
    Contested,
    InSync,
    MustWait,
    Observation,
    RunUpdate,
    Step,
    WaitForNamespaces,
    next_step,
    tenants_to_requeue,
)
from watcher.service import TryAgain

# The time from a Pulumi update to the next reconcile. Meanwhile, the informers receive the changed objects.
_LOOK_AGAIN_S: Final = 2.0
# The time to the next reconcile if an object cannot be repaired, or if somebody changes it after each repair.
_CONTESTED_S: Final = 10.0


class Reconciler:
    def __init__(
        self,
        cluster: Cluster,
        stacks: Stacks,
        tenants: Tenants,
        managed: ManagedObjects,
        plans: LivePlans,
        served: Callable[[], frozenset[Kind]],
        applied: LastApplied,
        loader: AppliedLoader,
        repairs: Repairs,
        reporter: Reporter,
        blocked_s: float,
    ) -> None:
        self._cluster = cluster
        self._stacks = stacks
        self._tenants = tenants
        self._managed = managed
        self._plans = plans
        self._served = served
        self._claims = claims = Reservations()
        self._applied = applied
        self._loader = loader
        self._repairs = repairs
        self._contested = ContestedObjects()
        self._seen_specs = SeenSpecs()
        self.reporter = reporter
        self._terminator = Terminator(cluster, stacks, tenants, claims, served, loader, repairs, blocked_s)
        self._desired: dict[str, DesiredState] = {}

    def reconcile(self, name: str) -> float | None:
        """Reconcile a tenant.

        Returns the seconds until the next reconcile of the tenant, or None to wait for the next change.
        Raises TryAgain after a failure that a retry may solve. Raises ClusterError if the API server does
        not answer or reports a conflict.
        """
        manifests = self._tenants.named(name)
        if not manifests:
            self._forget(name)
            return None
        manifest, *namesakes = manifests
        for namesake in namesakes:
            self.reporter.reject_namesake(namesake, manifest)
        if is_deleting(manifest):
            self._desired.pop(name, None)
            return self._terminator.terminate(manifest)
        return self._build(name, manifest)

    def differences(self, tenant: Manifest) -> Differences:
        """The manual changes to a tenant's objects, and the changes that the watcher has not applied yet."""
        name, facts = tenant["metadata"]["name"], Facts(self._plans.current, self._served())
        desired, applied = self._desired.get(name), self._applied.objects(name)
        return current_differences(tenant, desired, applied, self._managed.of(name), facts)

    def notice(self, before: Manifest | None, after: Manifest | None) -> None:
        """Store each new spec for the history, and reserve the namespaces and hosts of a new Tenant."""
        if before is None and after is not None:
            self._claims.remember(after["metadata"]["name"], known_namespaces(after), known_hosts(after))
        self._seen_specs.notice(before, after)

    def tenants_to_requeue(self, before: Manifest | None, after: Manifest | None) -> set[str]:
        """The names of the tenants to reconcile after a change to an object that belongs to a tenant."""
        return tenants_to_requeue(self._desired, self._applied.get, before, after)

    def _build(self, name: str, manifest: Manifest) -> float | None:
        """Reconcile a tenant that is not being deleted."""
        manifest = self._seen_specs.noted(manifest)
        step: Step | None = None
        try:
            tenant, desired = self._claims.decide_and_reserve(manifest, self._facts(manifest))
            self._desired[name] = desired
            if tenant.spec.paused:
                self._loader.want(manifest)
                self.reporter.report_paused(manifest, desired)
                return None
            manifest = self.reporter.begin(manifest)
            step = next_step(self._observe(manifest, desired))
            return self._act(manifest, desired, step)
        except MustWait as wait:
            self._repairs.keep(manifest)
            self.reporter.report_waiting(manifest, self._desired[name], wait)
        except (DriftContested, RepairFailed) as error:
            self.reporter.report_failure(manifest, error, step)
            return _CONTESTED_S
        except (TenancyError, StackError, ClusterError) as error:
            self._repairs.keep(manifest)
            self.reporter.report_failure(manifest, error, step)
            if not isinstance(error, InvalidSpec):
                raise TryAgain from None
        return _LOOK_AGAIN_S if isinstance(step, RunUpdate) else None

    def _facts(self, manifest: Manifest) -> Facts:
        applied = self._applied.get(name := manifest["metadata"]["name"])
        own = {*self._managed.of(name), *((applied.objects or ()) if applied else ())}
        # `read_facts` decides whether a namespace belongs to the tenant.
        own = {key for key in own if key.kind != NAMESPACE.kind}
        return read_facts(self._cluster, manifest, self._plans.current, self._served(), own)

    def _observe(self, manifest: Manifest, desired: DesiredState) -> Observation:
        repairs, applied = self._repairs.unrecorded(desired.tenant), self._applied.objects(desired.tenant)
        contested = self._contested.in_round(repairs, desired.by_key)
        return Observation(manifest, desired, self._managed.of(desired.tenant), repairs, contested, applied)

    def _act(self, manifest: Manifest, desired: DesiredState, step: Step) -> float | None:
        """Run the step. Returns the same as `reconcile`. Raises MustWait, or the error of the step."""
        match step:
            case WaitForNamespaces(names):
                raise MustWait(f"waiting for namespaces to be deleted: {', '.join(names)}")
            case Contested():
                self._repairs.mark_recorded(desired.tenant, step.repairs)
                raise DriftContested(step.key, self._contested.cause(step.key, step.cause))
            case RunUpdate():
                self._update(manifest, desired, step)
                return _LOOK_AGAIN_S
            case InSync():
                return self._finish(manifest, desired)

    def _update(self, manifest: Manifest, desired: DesiredState, update: RunUpdate) -> None:
        try:
            parts = self._cluster, self._stacks, self._applied, self._managed
            result = apply(*parts, manifest, desired, update)
        finally:
            self._contested.end_round(update.repairs)
        self._repairs.mark_recorded(desired.tenant, update.repairs)
        self._repairs.check(desired.tenant)
        self.reporter.report_update(manifest, desired, update, result)

    def _finish(self, manifest: Manifest, desired: DesiredState) -> float | None:
        """After the desired state is applied, delete surplus objects, and report success in the status."""
        self._applied.put(desired)
        self._repairs.check(desired.tenant)
        if failure := self._repairs.failure(desired.tenant):
            raise failure
        hosts = sweep(self._cluster, self._claims, manifest, desired, self._managed.of(desired.tenant))
        self.reporter.report_in_sync(manifest, desired, hosts)
        return USED_HOSTS_S if hosts else None

    def _forget(self, name: str) -> None:
        self._desired.pop(name, None)
        self._loader.forget(name)
        self._repairs.forget(name)
        self._claims.release(name)
