"""Reports the result of each reconcile of a tenant in the status, in Events, in the log and in metrics."""

from collections import Counter
from collections.abc import Callable

import structlog

from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.events import NORMAL, WARNING, record_event
from cluster.live_objects import ManagedObjects
from cluster.tenants import Tenants, left_hosts
from stacks.errors import StackBusy, StackError
from stacks.result import StackResult
from tenancy.base.errors import InvalidSpec, Rejection, TenancyError
from tenancy.base.manifest import Manifest, is_deleting
from tenancy.base.reasons import Reason
from tenancy.changes import Operation
from tenancy.desired import DesiredState
from tenancy.drift import drift_text
from tenancy.history.spec_changes import with_result
from tenancy.same_name_in_both_groups import has_finalizer, name_taken
from tenancy.spec.tenant_status import SpecResult
from tenancy.usage import MeasuredUsage
from watcher.isolation import Failures, IsolationChecks
from watcher.metrics import Metrics
from watcher.reconciler.applied_loader import AppliedLoader, is_paused
from watcher.reconciler.contested_objects import DriftContested
from watcher.reconciler.drift_repair import RepairFailed, Repairs
from watcher.reconciler.drift_report import drift_verdict, paused_drift_verdict
from watcher.reconciler.last_applied import LastApplied
from watcher.reconciler.status import (
    active_status,
    failed_status,
    paused_status,
    pending_status,
    ready_verdict,
    with_usage,
)
from watcher.reconciler.status_change import KEEP, Keep, Verdict, with_isolation
from watcher.reconciler.update_needed import MustWait, RunUpdate, Step, is_applied

log = structlog.get_logger(__name__)

# The errors that can end a reconcile. Each one has the attribute `reason`.
Failure = TenancyError | StackError | ClusterError


class Reporter:
    def __init__(
        self,
        cluster: Cluster,
        tenants: Tenants,
        managed: ManagedObjects,
        applied: LastApplied,
        loader: AppliedLoader,
        repairs: Repairs,
        metrics: Metrics,
        measured: Callable[[str], MeasuredUsage | None],
        isolation: IsolationChecks,
    ) -> None:
        self._cluster = cluster
        self._tenants = tenants
        self._managed = managed
        self._applied = applied
        self._loader = loader
        self._repairs = repairs
        self._metrics = metrics
        self._measured = measured
        self._isolation = isolation

    def begin(self, manifest: Manifest) -> Manifest:
        """Add the finalizer and a first status if they are missing. Returns the updated Tenant.

        Call this method before the first object of the tenant is created. The status in `manifest` must list
        the changes to the spec (see `SeenSpecs.noted`), even if the API server does not store them yet.
        """
        if not has_finalizer(manifest):
            # The request does not write the status, so the status in the response may be older.
            manifest = {**self._tenants.add_finalizer(manifest), "status": manifest["status"]}
        if "phase" not in manifest["status"]:
            applying = pending_status(manifest, Reason.APPLYING, "the stack is being applied")
            manifest = self._tenants.write_status(manifest, applying)
        return manifest

    def report_in_sync(self, manifest: Manifest, desired: DesiredState, other_hosts: tuple[str, ...]) -> None:
        """Report that nothing has to be applied.

        `other_hosts` are hosts that the tenant's objects still use, although the spec no longer contains
        them.
        """
        status = active_status(manifest, desired, other_hosts=other_hosts)
        failures = self._isolation.failures(desired.tenant, desired)
        self._write_status(manifest, with_result(status, manifest, SpecResult.UNCHANGED), failures)
        log.debug("tenant unchanged", tenant=desired.tenant)
        self._metrics.count_unchanged()

    def report_paused(self, manifest: Manifest, desired: DesiredState) -> None:
        status = paused_status(manifest, desired, self._paused_drift(desired.tenant))
        failures = self._isolation.failures(desired.tenant, desired, has_drift=True)
        self._write_status(manifest, with_result(status, manifest, SpecResult.PAUSED), failures)

    def report_waiting(self, manifest: Manifest, desired: DesiredState, wait: MustWait) -> None:
        name = manifest["metadata"]["name"]
        status = pending_status(
            manifest,
            wait.reason,
            f"{wait}{self._loader.problem_text(name)}",
            self._repairs.unrecorded_text(name),
            wait.applied.digest if wait.applied else KEEP,
            is_applied=(manifest.get("status") or {}).get("appliedDigest") == desired.digest,
        )
        self._write_status(manifest, status, self._isolation.failures(name))

    def report_update(
        self, manifest: Manifest, desired: DesiredState, update: RunUpdate, result: StackResult
    ) -> None:
        counts = dict(result.counts)
        log.info(
            "stack applied",
            tenant=desired.tenant,
            cause=update.message,
            changes=counts,
            repaired=len(update.repairs),
            took_s=result.duration_s,
        )
        self._metrics.count_applied(result.duration_s, len(update.repairs))
        # Count only changed Kubernetes objects. Pulumi also counts its own resources and unchanged objects.
        operations = Counter(change.operation for change in update.record.changes)
        summary = ", ".join(f"{operations[each]} {each}" for each in Operation if operations[each])
        reason = Reason.DRIFT_REPAIRED if update.repairs else Reason.APPLIED
        message = f"{update.message}: {summary or 'no changes'} in {result.duration_s} s"
        record_event(self._cluster, manifest, NORMAL, reason, message)
        drift, hosts = drift_text(update.drift), left_hosts(manifest, desired)
        status = active_status(manifest, desired, result, update.message, drift, other_hosts=hosts)
        failures = self._isolation.failures(desired.tenant, desired)
        self._write_status(manifest, with_result(status, manifest, SpecResult.APPLIED), failures)

    def report_failure(self, manifest: Manifest, error: Failure, step: Step | None = None) -> None:
        """Report an error in the status. Also create an Event if the reason or the message is new.

        Some errors are not caused by the Tenant: the API server did not answer, or it reported a conflict.
        This method does not report such an error, but raises it again.
        """
        if isinstance(error, ClusterError) and not error.is_refusal:
            raise error
        if isinstance(error, DriftContested | RepairFailed | InvalidSpec):
            self._metrics.count_failed()  # Other errors make the worker fail, and are counted there.
        name = manifest["metadata"]["name"]
        message = f"{error}{self._loader.problem_text(name)}"
        unrepaired = message if isinstance(error, DriftContested | RepairFailed) else ""
        status = failed_status(
            manifest,
            error.reason,
            message,
            is_applied=_is_applied(error, step),
            drifted=self._paused_drift(name)
            if is_paused(manifest)
            else drift_verdict(self._repairs.unrecorded_text(name), unrepaired),
            half_done=_half_done(error, step),
        )
        log.warning("tenant failed", tenant=name, reason=error.reason, problem=str(error))
        if ready_verdict(manifest) != (error.reason, message):
            record_event(self._cluster, manifest, WARNING, error.reason, message)
        outcome = SpecResult.REJECTED if isinstance(error, Rejection) else SpecResult.FAILED
        failures = self._isolation.failures(name, has_drift=True)
        result = with_result(status, manifest, outcome, error.reason, str(error))
        self._write_status(manifest, result, failures)

    def report_internal_error(self, name: str, error: Exception) -> None:
        """Report an unexpected exception in the tenant's status."""
        for manifest in self._tenants.named(name)[:1]:
            message = f"{type(error).__name__}: {error}"
            status = failed_status(manifest, Reason.INTERNAL_ERROR, message, is_applied=KEEP)
            self._tenants.write_status(manifest, status)

    def reject_namesake(self, namesake: Manifest, manifest: Manifest) -> None:
        """Reject the Tenant `namesake`. The older Tenant `manifest` has the same name in the other API group.

        If `namesake` is being deleted, only remove its finalizer, because no objects were created for it.
        """
        if is_deleting(namesake) and has_finalizer(namesake):
            self._tenants.remove_finalizer(namesake)
            return
        error = name_taken(manifest)
        self._tenants.write_status(namesake, failed_status(namesake, error.reason, str(error)))

    def _paused_drift(self, name: str) -> Verdict:
        live, problem = self._managed.of(name), self._loader.problem(name)
        return paused_drift_verdict(self._applied.objects(name), live, problem)

    def _write_status(self, manifest: Manifest, status: Manifest, failures: Failures | None) -> None:
        """Write the status. Add the tenant's current usage and the condition Isolated."""
        name = manifest["metadata"]["name"]
        status = with_usage(status, self._managed.of(name), self._measured(name))
        self._tenants.write_status(manifest, with_isolation(status, manifest, failures))


def _is_applied(error: Failure, step: Step | None) -> bool | Keep:
    """Whether the newest spec is applied. KEEP if the error occurred before this was known."""
    if isinstance(error, Rejection):
        return False
    is_applied_before = is_applied(step)
    return KEEP if is_applied_before is None else is_applied_before


def _half_done(error: Failure, step: Step | None) -> str:
    """The message of a Pulumi update that failed, but may have changed some objects. Otherwise empty.

    For example, the result is empty in these cases:

    - The stack is locked, so the update has not started.
    - The update only records repairs of drift, so it changes no object.
    """
    if not isinstance(error, StackError) or isinstance(error, StackBusy):
        return ""
    return step.message if isinstance(step, RunUpdate) and not step.repairs else ""
