"""Reverts edits and deletions of applied objects within a second or two, on separate threads.

Repairs send requests to the API server, and do not run Pulumi. So objects are repaired even in these cases:

- The spec is rejected.
- The Pulumi stack is locked.
- The state backend does not answer.
- The last reconcile of the tenant has failed, and the retry delay has not ended yet.

The next Pulumi update records the repairs in the stack's history.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import structlog

from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.live_objects import ManagedObjects, tenant_of
from tenancy.base.backoff import REPAIR
from tenancy.base.errors import TenancyError
from tenancy.base.kinds import NAMESPACE, Kind
from tenancy.base.manifest import Manifest, ObjectKey, object_key
from tenancy.base.reasons import Reason
from tenancy.changes import Operation
from tenancy.drift import drift_text
from tenancy.registrations import apply_stage
from watcher.queue import TenantQueue
from watcher.reconciler.applied_loader import AppliedLoader
from watcher.reconciler.last_applied import LastApplied
from watcher.reconciler.restore_object import Repair, restore_object
from watcher.service import QueueWorkers, TryAgain

log = structlog.get_logger(__name__)

_THREADS: Final = 4
# The minimum time between two repairs of one tenant, so that repeated changes do not keep a thread busy.
_PAUSE_S: Final = 0.2


class RepairFailed(TenancyError):
    """A request to restore an object failed."""

    reason = Reason.REPAIR_FAILED


class Repairs:
    """Repairs the objects of all tenants.

    A worker thread calls `on_repaired` with a tenant's name in these cases:

    - The thread has repaired objects of the tenant.
    - The set of the tenant's objects that cannot be repaired has changed.
    """

    def __init__(
        self,
        cluster: Cluster,
        applied: LastApplied,
        loader: AppliedLoader,
        managed: ManagedObjects,
        served: Callable[[], frozenset[Kind]],
        on_repaired: Callable[[str], None],
    ) -> None:
        self._cluster = cluster
        self._applied = applied
        self._loader = loader
        self._managed = managed
        self._served = served
        self._on_repaired = on_repaired
        self._queue = TenantQueue(REPAIR)
        self.workers = QueueWorkers(
            "repairs", self._queue, self._repair_suspects, count=_THREADS, pause_s=_PAUSE_S
        )
        self._guard = threading.Lock()
        self._suspects: defaultdict[str, set[ObjectKey]] = defaultdict(set)
        self._unrecorded: defaultdict[str, dict[ObjectKey, Repair]] = defaultdict(dict)
        self._failures: dict[str, dict[ObjectKey, str]] = {}

    def keep(self, manifest: Manifest) -> None:
        """Repair the drift of a tenant from now on. If the tenant is paused, stop the repairs instead."""
        self._loader.want(manifest)
        self.check(manifest["metadata"]["name"])

    def keep_applied(self) -> None:
        """Start to repair the drift of all tenants whose newest spec is applied.

        Call this method once, before the workers start.
        """
        for tenant in self._loader.load_from_specs():
            self.check(tenant)

    def notice(self, before: Manifest | None, after: Manifest | None) -> None:
        """Queue a changed object for repair if the change must be reverted.

        `before` and `after` are the object before and after the change. Thread-safe.
        """
        for manifest in (before, after):
            if manifest is None:
                continue
            tenant, key = tenant_of(manifest), object_key(manifest)
            applied = self._applied.get(tenant)
            # An object that now has another tenant's label counts as deleted for this tenant.
            live = after if after and tenant_of(after) == tenant else None
            if applied and applied.to_restore(key, live):
                self._suspect(tenant, {key})
            elif key.kind == NAMESPACE.kind and before is None:
                self.check(tenant)  # Somebody else may have created the namespace without its objects.

    def check(self, tenant: str) -> None:
        """Compare a tenant's live objects with the last applied objects. Queue the objects to repair."""
        if applied := self._applied.get(tenant):
            live = self._managed.of(tenant)
            self._suspect(tenant, {key for key in applied.all_keys if applied.to_restore(key, live.get(key))})

    def unrecorded(self, tenant: str) -> dict[ObjectKey, Repair]:
        """The repairs that are not in the stack's history yet, because no Pulumi update has recorded them."""
        with self._guard:
            return dict(self._unrecorded.get(tenant, {}))

    def unrecorded_text(self, tenant: str) -> str:
        """The result of `unrecorded` as one line of text. Empty if there are no such repairs."""
        return drift_text({key: repair.drift for key, repair in self.unrecorded(tenant).items()})

    def mark_recorded(self, tenant: str, repairs: Mapping[ObjectKey, Repair]) -> None:
        """Remove these repairs from the result of `unrecorded`."""
        with self._guard:
            left = {
                key: repair
                for key, repair in self._unrecorded.pop(tenant, {}).items()
                if repairs.get(key) is not repair
            }
            if left:
                self._unrecorded[tenant] = left

    def failure(self, tenant: str) -> RepairFailed | None:
        """An error that names an object which could not be repaired. None if no repair has failed."""
        with self._guard:
            failures = self._failures.get(tenant, {})
            return RepairFailed(f"{min(failures)}: {failures[min(failures)]}") if failures else None

    def forget(self, tenant: str) -> None:
        """Remove all data of a deleted tenant."""
        with self._guard:
            for by_tenant in (self._suspects, self._unrecorded, self._failures):
                by_tenant.pop(tenant, None)

    def _suspect(self, tenant: str, keys: Iterable[ObjectKey]) -> None:
        with self._guard:
            if not (suspects := set(keys)):
                return
            self._suspects[tenant] |= suspects
        self._queue.add(tenant)

    def _repair_suspects(self, tenant: str) -> None:
        """Repair the queued objects of a tenant. Raises TryAgain if some of them are not repaired yet."""
        with self._guard:
            suspects = self._suspects.pop(tenant, set())
        try:
            left = self._repair_all(tenant, suspects)
        except Exception:
            self._suspect(tenant, suspects)
            raise
        self._suspect(tenant, left)
        if left:
            raise TryAgain

    def _repair_all(self, tenant: str, suspects: Iterable[ObjectKey]) -> set[ObjectKey]:
        """Restore each of these objects that differs from its last applied version.

        Reads the objects from the API server, because the informers' copies may be outdated. Returns the
        objects that are not fully restored, or whose repair has failed.
        """
        repairs: dict[ObjectKey, Repair] = {}
        failures: dict[ObjectKey, str] = {}
        again: set[ObjectKey] = set()
        waiting = sorted(suspects, key=_order)
        with self._applied.held(tenant) as applied:
            while applied and waiting:
                key = waiting.pop(0)
                try:
                    repair, is_done = restore_object(self._cluster, self._served(), tenant, applied, key)
                except ClusterError as error:
                    failures[key] = str(error)  # Continue, so that the other objects are repaired.
                    continue
                if not is_done:
                    again.add(key)
                if repair is None:
                    continue
                repairs[key] = repair
                log.info("object repaired", tenant=tenant, object=str(key), drift=repair.drift)
                if key.kind == NAMESPACE.kind and repair.change.operation is Operation.CREATE:
                    waiting = sorted({*waiting, *applied.keys_in(key.name)}, key=_order)
        self._record(tenant, repairs, failures)
        return again | failures.keys()

    def _record(
        self, tenant: str, repairs: Mapping[ObjectKey, Repair], failures: dict[ObjectKey, str]
    ) -> None:
        with self._guard:
            self._unrecorded[tenant].update(repairs)
            before = self._failures.pop(tenant, {})
            if failures:
                self._failures[tenant] = failures
        if failures != before:
            for key, problem in failures.items():
                log.warning("repair failed", tenant=tenant, object=str(key), problem=problem)
        if repairs or failures != before:
            self._on_repaired(tenant)


def _order(key: ObjectKey) -> tuple[bool, int, ObjectKey]:
    """A sort key. RoleBindings come last, so that users get access only after isolation is restored.

    Namespaces come first, because the other objects need them.
    """
    return key.kind != NAMESPACE.kind, apply_stage(key), key
