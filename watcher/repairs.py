"""Reverts edits and deletions of applied objects within a second or two, in threads of its own.

It does not depend on whether `up` can run: a rejected spec, a lock, a failing backend or backoff do not delay
it. The `up` that follows records the repairs.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import structlog

from tenancy.changes import ObjectChange, object_change
from tenancy.component import apply_stage, resource_inputs
from tenancy.drift import object_drift, repair_patch
from tenancy.kinds import KIND_BY_KEY, MANAGED_KINDS, NAMESPACE, Kind
from tenancy.manifest import Manifest, ObjectKey, object_key
from tenancy.names import FIELD_MANAGER
from watcher.applied import LastApplied
from watcher.cluster import Cluster, ClusterError
from watcher.managed import ManagedObjects, is_ending, tenant_of
from watcher.queue import TenantQueue

log = structlog.get_logger(__name__)

_THREADS: Final = 4
_FIRST_RETRY_S: Final = 0.25
_LAST_RETRY_S: Final = 5.0
# An object that is changed all the time must not keep a thread busy.
_PAUSE_S: Final = 0.2


@dataclass(frozen=True)
class Repair:
    """An object that was repaired: the drift as a short phrase, and what was in the cluster before."""

    drift: str
    change: ObjectChange


class Repairs:
    """Repairs the objects of all tenants. `on_repaired` is called with the tenant's name, in any thread."""

    def __init__(
        self,
        cluster: Cluster,
        applied: LastApplied,
        managed: ManagedObjects,
        served: Callable[[], frozenset[Kind]],
        on_repaired: Callable[[str], None],
    ) -> None:
        self._cluster = cluster
        self._applied = applied
        self._managed = managed
        self._served = served
        self._on_repaired = on_repaired
        self._queue = TenantQueue(_FIRST_RETRY_S, _LAST_RETRY_S)
        self._guard = threading.Lock()
        self._suspects: defaultdict[str, set[ObjectKey]] = defaultdict(set)
        self._unrecorded: defaultdict[str, dict[ObjectKey, Repair]] = defaultdict(dict)
        self.threads = [
            threading.Thread(target=self._run, name=f"repairs {number}", daemon=True)
            for number in range(_THREADS)
        ]

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    def stop(self) -> None:
        self._queue.close()

    def notice(self, before: Manifest | None, after: Manifest | None) -> None:
        """Look at a change of a managed object, on an informer's thread."""
        for manifest in (before, after):
            if manifest is None:
                continue
            tenant, key = tenant_of(manifest), object_key(manifest)
            applied = self._applied.get(tenant)
            # An object that carries another tenant's label by now is gone for this one.
            live = after if after and tenant_of(after) == tenant else None
            if applied and applied.to_restore(key, live):
                self._suspect(tenant, {key})

    def check(self, tenant: str) -> None:
        """Compare all objects of a tenant with the last applied ones, and repair those that differ."""
        if applied := self._applied.get(tenant):
            live = self._managed.of(tenant)
            self._suspect(tenant, {key for key in applied.keys if applied.to_restore(key, live.get(key))})

    def unrecorded(self, tenant: str) -> dict[ObjectKey, Repair]:
        """What was repaired since the last update that recorded repairs."""
        with self._guard:
            return dict(self._unrecorded.get(tenant, {}))

    def recorded(self, tenant: str, repairs: Mapping[ObjectKey, Repair]) -> None:
        """An update has recorded these repairs."""
        with self._guard:
            left = {
                key: repair
                for key, repair in self._unrecorded.pop(tenant, {}).items()
                if repairs.get(key) is not repair
            }
            if left:
                self._unrecorded[tenant] = left

    def _suspect(self, tenant: str, keys: Iterable[ObjectKey], after_s: float = 0.0) -> None:
        with self._guard:
            self._suspects[tenant].update(keys)
            if not self._suspects[tenant]:
                return
        self._queue.add(tenant, after_s)

    def _run(self) -> None:
        while (tenant := self._queue.take()) is not None:
            with self._guard:
                suspects = self._suspects.pop(tenant, set())
            try:
                self._repair_all(tenant, suspects)
            except ClusterError as error:
                log.warning("repair failed", tenant=tenant, problem=str(error))
                self._suspect(tenant, suspects)
                self._queue.failed(tenant)
            except Exception:
                log.exception("repair broke", tenant=tenant)
                self._suspect(tenant, suspects)
                self._queue.failed(tenant)
            else:
                self._queue.done(tenant, _PAUSE_S)

    def _repair_all(self, tenant: str, suspects: Iterable[ObjectKey]) -> None:
        """Repair the objects that the cluster itself confirms: the informers' copies may lag behind."""
        repairs: dict[ObjectKey, Repair] = {}
        failures: list[ClusterError] = []
        waiting = sorted(suspects, key=_order)
        with self._applied.held(tenant) as applied:
            while applied and waiting:
                key = waiting.pop(0)
                live = self._cluster.get(KIND_BY_KEY[key.kind], key.name, key.namespace)
                desired = applied.to_restore(key, live)
                if desired is None or not self._can_be_written(key, live):
                    continue
                try:
                    self._restore(key, desired, live)
                except ClusterError as error:
                    failures.append(error)  # The others must not wait for it.
                    continue
                drift = object_drift(desired, live)
                assert drift is not None
                repairs[key] = Repair(drift, object_change(key, desired, live))
                log.info("object repaired", tenant=tenant, object=str(key), drift=drift)
                if key.kind == NAMESPACE.kind and live is None:
                    waiting = sorted({*waiting, *applied.keys_in(key.name)}, key=_order)
        if repairs:
            with self._guard:
                self._unrecorded[tenant].update(repairs)
            self._on_repaired(tenant)
        if failures:
            raise failures[0]

    def _can_be_written(self, key: ObjectKey, live: Manifest | None) -> bool:
        """Nothing can be created in a namespace that is being deleted, nor of a kind whose CRD is gone.

        The end of the namespace, or the CRD, brings the object back here.
        """
        kind = KIND_BY_KEY[key.kind]
        if kind not in MANAGED_KINDS and kind not in self._served():
            return False
        if key.kind == NAMESPACE.kind:
            return True
        if live is not None:
            return not is_ending(live)
        namespace = self._cluster.get(NAMESPACE, key.namespace) if key.namespace else None
        return not key.namespace or (namespace is not None and not is_ending(namespace))

    def _restore(self, key: ObjectKey, desired: Manifest, live: Manifest | None) -> None:
        """Apply the whole object under Pulumi's field manager: no other manager keeps a field of ours."""
        kind, inputs = KIND_BY_KEY[key.kind], resource_inputs(desired)
        try:
            restored = self._cluster.apply(inputs, field_manager=FIELD_MANAGER)
        except ClusterError as error:
            # Recreate objects with immutable fields. Never recreate a namespace: it holds others' objects.
            if error.status != 422 or live is None or key.kind == NAMESPACE.kind:
                raise
            self._cluster.delete(kind, key.name, key.namespace, live["metadata"]["uid"])
            restored = self._cluster.apply(inputs, field_manager=FIELD_MANAGER)
        # Server-side apply leaves fields that only others set, such as one more key in a quota.
        if foreign := repair_patch(desired, restored):
            self._cluster.patch(kind, key.name, foreign, namespace=key.namespace, field_manager=FIELD_MANAGER)


def _order(key: ObjectKey) -> tuple[bool, int, ObjectKey]:
    """Namespaces before their content, bindings last: nobody gets in before the namespace is isolated."""
    return key.kind != NAMESPACE.kind, apply_stage(key), key
