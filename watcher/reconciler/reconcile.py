"""The story of a tenant, from what is wanted to what is: one call per turn of the queue.

Workers call `reconcile`. It reads from the live copies, acts through the tenant's stack, and
writes status whatever happened. Deletion is told in `terminate`.
"""

from collections.abc import Callable
from typing import Final

import structlog

from cluster.client import Cluster, ClusterError
from cluster.events import NORMAL, WARNING, record_event
from cluster.live_objects import ManagedObjects, is_ending, tenant_of
from cluster.plans_in_force import LivePlans
from cluster.tenants import (
    Tenants,
    has_finalizer,
    is_deleting,
    known_hosts,
    known_namespaces,
    update_record,
)
from stacks.errors import StackBusy, StackError
from stacks.result import StackResult
from stacks.stack import Stacks
from tenancy.base.errors import InvalidSpec, TenancyError
from tenancy.base.kinds import Kind
from tenancy.base.manifest import Manifest, ObjectKey, object_key
from tenancy.changes import object_changes
from tenancy.desired import DesiredState, desired_state
from tenancy.drift import drift, drift_text, object_drift
from tenancy.spec.tenant import tenant_from_manifest
from tenancy.usage import MeasuredUsage
from watcher.metrics import Metrics
from watcher.reconciler.applied_loader import AppliedLoader, is_paused
from watcher.reconciler.apply import apply
from watcher.reconciler.claims import Claims, check_names_are_free
from watcher.reconciler.contested_objects import ContestedObjects, DriftContested
from watcher.reconciler.last_applied import LastApplied
from watcher.reconciler.repairs import RepairFailed, Repairs
from watcher.reconciler.retry import TryAgain
from watcher.reconciler.status import (
    active_status,
    failed_status,
    integrations_told,
    paused_status,
    pending_status,
    ready_verdict,
    with_usage,
)
from watcher.reconciler.sweep import sweep
from watcher.reconciler.terminate import Terminator
from watcher.reconciler.work import BY_SPEC, NamespaceEnding, Work

log = structlog.get_logger(__name__)

# How long after an `up` the watch has surely caught up with it.
_LOOK_AGAIN_S: Final = 2.0
# How long a fight over an object must be over before the tenant counts as well again.
_REST_S: Final = 10.0


# What a turn can fail with, each with a reason for the status.
Failure = TenancyError | StackError | ClusterError


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
        metrics: Metrics,
        measured: Callable[[str], MeasuredUsage | None],
    ) -> None:
        self._cluster = cluster
        self._stacks = stacks
        self._measured = measured
        self._tenants = tenants
        self._managed = managed
        self._plans = plans
        self._served = served
        self._metrics = metrics
        self._claims = Claims(cluster)
        self._applied = applied
        self._loader = loader
        self._repairs = repairs
        self._contested = ContestedObjects()
        self._terminator = Terminator(cluster, stacks, tenants, self._claims, served, loader, repairs)
        self._desired: dict[str, DesiredState] = {}

    def reconcile(self, name: str) -> float | None:
        """One turn. Returns after how many seconds to look again though nothing has changed; None: never."""
        found = self._tenants.named(name)
        if not found:
            self._forget(name)
            return None
        tenant, *namesakes = found
        for namesake in namesakes:
            self._turn_away(namesake, tenant)
        if is_deleting(tenant):
            self._desired.pop(name, None)
            return self._terminator.terminate(tenant)
        work = None
        try:
            given = tenant_from_manifest(tenant)
            desired = desired_state(given, self._plans.current, self._served())
            self._claims.take(given, desired.hostnames, known_namespaces(tenant))
            self._desired[name] = desired
            if given.spec.paused:
                self._loader.forget(name)
                found_drift = drift_text(drift(desired, self._managed.of(name)))
                self._write_status(tenant, paused_status(tenant, desired, found_drift))
                return None
            tenant = self._hold(tenant)
            work = self._work(tenant, desired)
            if work is None:
                self._applied.put(desired)
                self._repairs.check(name)
                if failure := self._repairs.failure(name):
                    raise failure
                sweep(self._cluster, self._claims, tenant, desired, self._managed.of(name))
                status = active_status(tenant, desired)
            else:
                check_names_are_free(self._cluster, desired, self._managed.of(name))
                try:
                    result = apply(self._cluster, self._stacks, self._applied, tenant, desired, work)
                finally:
                    self._contested.ended(work.repairs)
                self._tell(tenant, work, result)
                self._repairs.recorded(name, work.repairs)
                self._repairs.check(name)
                status = active_status(tenant, desired, result, work.cause, drift_text(work.drift))
        except NamespaceEnding as ending:
            self._keep_applied(tenant)
            status = pending_status(
                tenant,
                "NamespaceTerminating",
                f"{ending}{self._loader.problem_text(name)}",
                self._repairs.unrecorded_text(name),
                **({"applied_digest": ending.applied.digest} if ending.applied else {}),
            )
        except (DriftContested, RepairFailed) as error:
            self._fail(tenant, error)
            self._metrics.count_failed()
            return _REST_S
        except (TenancyError, StackError, ClusterError) as error:
            self._keep_applied(tenant)
            self._fail(tenant, error, work)
            if isinstance(error, InvalidSpec):
                self._metrics.count_failed()
                return None
            raise TryAgain from None
        self._write_status(tenant, status)
        if work is None:
            log.debug("tenant unchanged", tenant=name)
            self._metrics.count_unchanged()
        return _LOOK_AGAIN_S if work else None

    def desired(self, name: str) -> DesiredState | None:
        """What the tenant should be; None before its first turn, and while it is deleted."""
        return self._desired.get(name)

    def keep_applied(self) -> None:
        """Have the applied objects of all tenants kept from the start, before each has its first turn."""
        for name in self._tenants.names():
            for tenant in self._tenants.named(name)[:1]:
                if not is_deleting(tenant) and self._loader.load_from_spec(tenant):
                    self._repairs.check(name)

    def restore(self, tenant: Manifest) -> None:
        """Takes up what an earlier run has written: called for every tenant before the first turn."""
        self._claims.remember(tenant["metadata"]["name"], known_namespaces(tenant), known_hosts(tenant))

    def concerns(self, before: Manifest | None, after: Manifest | None) -> set[str]:
        """The tenants that must look at a change of a managed object. Our own changes are as desired."""
        return {
            name
            for manifest in (before, after)
            if manifest and (name := tenant_of(manifest)) and self._is_news(name, object_key(manifest), after)
        }

    def _is_news(self, name: str, key: ObjectKey, after: Manifest | None) -> bool:
        desired = self._desired.get(name)
        if desired is None:
            return key.kind == "Namespace" and after is None
        if key not in desired.by_key:
            return after is not None or key.kind == "Namespace"
        return is_ending(after) or object_drift(desired.by_key[key], after) is not None

    def _work(self, tenant: Manifest, desired: DesiredState) -> Work | None:
        """What is to be done, if anything: a new spec, a new plan, or drift."""
        live = self._managed.of(desired.tenant)
        if ending := [
            key.name for key, manifest in live.items() if key in desired.by_key and is_ending(manifest)
        ]:
            raise NamespaceEnding(f"waiting for the end of {', '.join(ending)}")
        status, generation = tenant.get("status") or {}, tenant["metadata"]["generation"]
        is_applied = status.get("appliedDigest") == desired.digest
        if not is_applied:
            record = update_record(tenant, object_changes(desired, live))
            if status.get("observedGeneration") != generation:
                return Work(f"{BY_SPEC} {generation}", record)
            if status.get("phase") == "Active":
                has_new_kinds = integrations_told(tenant) != desired.missing_text
                cause = "integrations changed" if has_new_kinds else f"plan {tenant['spec']['plan']} changed"
                return Work(cause, record)
            return Work(f"{BY_SPEC} {generation}", record, is_retry="lastUpdate" in status)
        repairs = self._repairs.unrecorded(desired.tenant)
        contested = self._contested.begun(repairs)
        if repairs and contested >= repairs.keys():
            self._repairs.recorded(desired.tenant, repairs)
            raise DriftContested(min(contested))
        if not repairs:
            if contested := self._contested.ongoing(desired.by_key):
                raise DriftContested(min(contested))
            return None
        record = update_record(tenant, tuple(repair.change for repair in repairs.values()))
        drifted = {key: repair.drift for key, repair in repairs.items()}
        return Work(f"drift: {drift_text(drifted)}", record, repairs)

    def _keep_applied(self, tenant: Manifest) -> None:
        """Have the last applied objects kept while the tenant cannot be updated."""
        name = tenant["metadata"]["name"]
        if is_paused(tenant):
            self._loader.forget(name)
            return
        self._loader.want(tenant)
        self._repairs.check(name)

    def _hold(self, tenant: Manifest) -> Manifest:
        """The finalizer comes before the first object."""
        if not has_finalizer(tenant):
            tenant = self._tenants.add_finalizer(tenant)
        if "status" not in tenant:
            applying = pending_status(tenant, "Applying", "the stack is being applied")
            tenant = self._tenants.write_status(tenant, applying)
        return tenant

    def _tell(self, tenant: Manifest, work: Work, result: StackResult) -> None:
        name, counts = tenant["metadata"]["name"], dict(result.counts)
        log.info(
            "stack applied",
            tenant=name,
            cause=work.cause,
            changes=counts,
            repaired=len(work.drift),
            took_s=result.duration_s,
        )
        self._metrics.count_applied(result.duration_s, len(work.drift))
        told = ", ".join(f"{count} {operation}" for operation, count in counts.items())
        reason = "DriftRepaired" if work.drift else "Applied"
        record_event(self._cluster, tenant, NORMAL, reason, f"{work.cause}: {told} in {result.duration_s} s")

    def _fail(self, tenant: Manifest, error: Failure, work: Work | None = None) -> None:
        """Status, event and log. An event that would only say the same again is not written again."""
        if isinstance(error, ClusterError) and not error.is_refusal:
            raise error  # A conflict, or no answer: nothing a person could mend in the tenant.
        name = tenant["metadata"]["name"]
        # After a failed `up` it is unknown what is applied, unless it only had to record repairs.
        is_half_done = work and not work.repairs and isinstance(error, StackError)
        message = f"{error}{self._loader.problem_text(name)}"
        status = failed_status(
            tenant,
            error.reason,
            message,
            unrepaired=message if isinstance(error, DriftContested | RepairFailed) else "",
            repaired=self._repairs.unrecorded_text(name),
            half_done=work.cause if work and is_half_done and not isinstance(error, StackBusy) else "",
        )
        log.warning("tenant failed", tenant=name, reason=error.reason, problem=str(error))
        if ready_verdict(tenant) != (error.reason, message):
            record_event(self._cluster, tenant, WARNING, error.reason, message)
        self._write_status(tenant, status)

    def _write_status(self, tenant: Manifest, status: Manifest) -> None:
        """With what the tenant uses: whether or not it is well, that goes on."""
        name = tenant["metadata"]["name"]
        self._tenants.write_status(tenant, with_usage(status, self._managed.of(name), self._measured(name)))

    def report(self, name: str, error: Exception) -> None:
        """A turn broke for a reason nobody thought of: the tenant's status must say so all the same."""
        for tenant in self._tenants.named(name)[:1]:
            message = f"{type(error).__name__}: {error}"
            self._tenants.write_status(tenant, failed_status(tenant, "InternalError", message))

    def _turn_away(self, namesake: Manifest, tenant: Manifest) -> None:
        if is_deleting(namesake) and has_finalizer(namesake):
            self._tenants.remove_finalizer(namesake)  # A copy that came with it; nothing was made for it.
            return
        message = f"metadata.name: taken by the {tenant['apiVersion']} Tenant of this name, which is older"
        self._tenants.write_status(namesake, failed_status(namesake, "NameTaken", message))

    def _forget(self, name: str) -> None:
        self._desired.pop(name, None)
        self._loader.forget(name)
        self._repairs.forget(name)
        self._claims.release(name)
