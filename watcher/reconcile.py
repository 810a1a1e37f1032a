"""The story of a tenant, from what is wanted to what is: one call per turn of the queue.

Workers call `reconcile`. It reads from the live copies, acts through the tenant's stack, and
writes status whatever happened. Deletion is told in `terminate`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import structlog

from stacks.errors import StackBusy, StackError
from stacks.result import StackResult
from stacks.stack import Stacks
from tenancy.desired import DesiredState, desired_state
from tenancy.drift import drift, drift_text, object_drift, repair_patch, unwanted
from tenancy.errors import InvalidSpec, TenancyError
from tenancy.manifest import Manifest, ObjectKey, object_key
from tenancy.plans import Plans
from tenancy.tenant import tenant_from_manifest
from watcher.claims import NamespaceClaims
from watcher.cluster import MANAGED_BY_KIND, Cluster
from watcher.events import NORMAL, WARNING, record_event
from watcher.managed import ManagedObjects, is_ending, tenant_of
from watcher.repairs import DriftContested, RepairLog
from watcher.retry import TryAgain
from watcher.status import active_status, failed_status, pending_status
from watcher.tenants import Tenants, has_finalizer, is_deleting
from watcher.terminate import Terminator

log = structlog.get_logger(__name__)

# How long after an `up` the watch has surely caught up with it.
_LOOK_AGAIN_S: Final = 2.0


class NamespaceEnding(Exception):
    """A namespace the tenant wants is still being deleted. Its end brings the tenant back here."""


@dataclass(frozen=True)
class Work:
    """Why an `up` is due: told in its message, and in the status."""

    cause: str
    drift: Mapping[ObjectKey, str] = field(default_factory=dict)
    is_retry: bool = False

    @property
    def needs_refresh(self) -> bool:
        """Whether the cluster may be other than the stack's state says."""
        return bool(self.drift) or self.is_retry


class Reconciler:
    def __init__(
        self, cluster: Cluster, stacks: Stacks, tenants: Tenants, managed: ManagedObjects, plans: Plans
    ) -> None:
        self._cluster = cluster
        self._stacks = stacks
        self._tenants = tenants
        self._managed = managed
        self._plans = plans
        self._claims = NamespaceClaims(cluster)
        self._terminator = Terminator(cluster, stacks, tenants, self._claims)
        self._repairs = RepairLog()
        self._desired: dict[str, DesiredState] = {}

    def reconcile(self, name: str) -> float | None:
        """One turn. Returns after how many seconds to look again though nothing has changed; None: never."""
        found = self._tenants.named(name)
        if not found:
            self._forget(name)
            return None
        tenant, *namesakes = found
        for namesake in namesakes:
            self._refuse(namesake, tenant)
        if is_deleting(tenant):
            self._desired.pop(name, None)
            return self._terminator.terminate(tenant)
        work = None
        try:
            desired = desired_state(tenant_from_manifest(tenant), self._plans)
            self._claims.take(name, desired.namespaces)
            self._desired[name] = desired
            tenant = self._hold(tenant)
            work = self._work(tenant, desired)
            if work is None:
                self._sweep(desired)
                status = active_status(tenant, desired, self._managed.of(name))
            else:
                result = self._stacks.up(desired, work.cause, refresh=work.needs_refresh)
                self._tell(tenant, work, result)
                status = active_status(
                    tenant, desired, self._managed.of(name), result, work.cause, drift_text(work.drift)
                )
        except NamespaceEnding as ending:
            status = pending_status(tenant, "NamespaceTerminating", str(ending))
        except (TenancyError, StackError) as error:
            self._fail(tenant, error, work)
            return None
        self._tenants.write_status(tenant, status)
        return _LOOK_AGAIN_S if work else None

    def restore(self, tenant: Manifest) -> None:
        """Takes up what an earlier run has written: called for every tenant before the first turn."""
        namespaces = (tenant.get("status") or {}).get("namespaceStatus") or {}
        self._claims.remember(tenant["metadata"]["name"], list(namespaces))

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
            return after is not None
        return is_ending(after) or object_drift(desired.by_key[key], after) is not None

    def _work(self, tenant: Manifest, desired: DesiredState) -> Work | None:
        """What is to be done, if anything: a new spec, a new plan, or drift."""
        live = self._managed.of(desired.tenant)
        if ending := [
            key.name for key, manifest in live.items() if key in desired.by_key and is_ending(manifest)
        ]:
            raise NamespaceEnding(f"waiting for the end of {', '.join(ending)}")
        status, generation = tenant.get("status") or {}, tenant["metadata"]["generation"]
        if status.get("appliedDigest") != desired.digest:
            is_new_spec = status.get("observedGeneration") != generation
            if is_new_spec or "appliedDigest" not in status:
                return Work(
                    f"spec generation {generation}", is_retry=not is_new_spec and "lastUpdate" in status
                )
            return Work(f"plan {tenant['spec']['plan']} changed")
        found = self._confirmed(desired, drift(desired, live))
        if contested := self._repairs.contested(found):
            raise DriftContested(contested)
        return Work(f"drift: {drift_text(found)}", found) if found else None

    def _confirmed(self, desired: DesiredState, suspected: Mapping[ObjectKey, str]) -> dict[ObjectKey, str]:
        """Drift that the cluster itself confirms: our copy may lag behind our own changes.

        An edited object is put back here and now: a wall must not stand open while Pulumi starts. The
        `up` that follows makes again what was deleted, and puts all of it on record.
        """
        found = {}
        for key in suspected:
            kind, manifest = MANAGED_BY_KIND[key.kind], desired.by_key[key]
            live = self._cluster.get(kind, key.name, key.namespace)
            if fault := object_drift(manifest, live):
                found[key] = fault
            if live is not None and (patch := repair_patch(manifest, live)):
                self._cluster.patch(kind, key.name, patch, namespace=key.namespace)
        return found

    def _sweep(self, desired: DesiredState) -> None:
        """Deletes what is labelled as the tenant's but not wanted, such as a create nobody recorded."""
        live = self._managed.of(desired.tenant)
        for key, manifest in unwanted(desired, live).items():
            home = live.get(ObjectKey("Namespace", "", key.namespace), manifest)
            if is_ending(manifest) or is_ending(home) or not self._claims.may_remove(desired.tenant, key):
                continue
            uid = manifest["metadata"]["uid"]
            self._cluster.delete(MANAGED_BY_KIND[key.kind], key.name, key.namespace, uid)
            log.info("removed what is not wanted", tenant=desired.tenant, object=str(key))
        self._claims.release(desired.tenant, keep=desired.namespaces)

    def _hold(self, tenant: Manifest) -> Manifest:
        """The finalizer comes before the first object."""
        if not has_finalizer(tenant):
            tenant = self._tenants.add_finalizer(tenant)
        if "status" not in tenant:
            applying = pending_status(tenant, "Applying", "the stack is being applied")
            self._tenants.write_status(tenant, applying)
        return tenant

    def _tell(self, tenant: Manifest, work: Work, result: StackResult) -> None:
        name, counts = tenant["metadata"]["name"], dict(result.counts)
        log.info("stack applied", tenant=name, cause=work.cause, changes=counts, took_s=result.duration_s)
        told = ", ".join(f"{count} {operation}" for operation, count in counts.items())
        reason = "DriftRepaired" if work.drift else "Applied"
        record_event(self._cluster, tenant, NORMAL, reason, f"{work.cause}: {told} in {result.duration_s} s")

    def _fail(self, tenant: Manifest, error: TenancyError | StackError, work: Work | None) -> None:
        message = str(error)
        # Half done, what is applied is unknown until an `up` succeeds again.
        is_half_done = isinstance(error, StackError) and not isinstance(error, StackBusy)
        found = drift_text(work.drift) if work else ""
        log.warning("tenant failed", tenant=tenant["metadata"]["name"], reason=error.reason, problem=message)
        record_event(self._cluster, tenant, WARNING, error.reason, message)
        self._tenants.write_status(tenant, failed_status(tenant, error.reason, message, found, is_half_done))
        if not isinstance(error, InvalidSpec):
            raise TryAgain

    def _refuse(self, namesake: Manifest, tenant: Manifest) -> None:
        message = f"metadata.name: taken by the {tenant['apiVersion']} Tenant of this name, which is older"
        self._tenants.write_status(namesake, failed_status(namesake, "NameTaken", message))

    def _forget(self, name: str) -> None:
        self._desired.pop(name, None)
        self._claims.release(name)
