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

from cluster.client import Cluster, ClusterError
from cluster.live_objects import ManagedObjects, is_ending, tenant_of
from cluster.tenants import live_quotas
from tenancy.base.errors import TenancyError
from tenancy.base.kinds import (
    CONFIG_MAP,
    KIND_BY_KEY,
    MANAGED_KINDS,
    NAMESPACE,
    RESOURCE_QUOTA,
    ROLE_BINDING,
    SERVICE,
    Kind,
)
from tenancy.base.manifest import Manifest, ObjectKey, object_key
from tenancy.base.names import FIELD_MANAGER
from tenancy.changes import ObjectChange, Operation, object_change
from tenancy.component import apply_stage, resource_inputs
from tenancy.desired import DesiredState
from tenancy.drift import drift_text, object_drift, repair_patch
from tenancy.quota_transition import budget_step
from watcher.queue import TenantQueue
from watcher.reconciler.last_applied import Applied, LastApplied

log = structlog.get_logger(__name__)

_THREADS: Final = 4
_FIRST_RETRY_S: Final = 0.25
_LAST_RETRY_S: Final = 1.0
# An object that is changed all the time must not keep a thread busy.
_PAUSE_S: Final = 0.2
# Kinds that are recreated if a field is immutable. Never namespaces: they hold objects of others.
_WITH_IMMUTABLE_FIELDS: Final = (ROLE_BINDING, RESOURCE_QUOTA, CONFIG_MAP, SERVICE)


@dataclass(frozen=True)
class Repair:
    """An object that was repaired: the drift as a short phrase, and what was in the cluster before."""

    drift: str
    change: ObjectChange


class RepairFailed(TenancyError):
    """An object differs from the applied one, and the API server refuses to change that."""

    reason = "RepairFailed"


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
        self._failures: dict[str, dict[ObjectKey, str]] = {}
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
            elif key.kind == NAMESPACE.kind and before is None:
                self.check(tenant)  # Created, maybe by somebody else: its content may be missing.

    def check(self, tenant: str) -> None:
        """Compare all objects of a tenant with the last applied ones, and repair those that differ."""
        if applied := self._applied.get(tenant):
            live = self._managed.of(tenant)
            self._suspect(tenant, {key for key in applied.all_keys if applied.to_restore(key, live.get(key))})

    def unrecorded(self, tenant: str) -> dict[ObjectKey, Repair]:
        """The repairs since the last update that recorded repairs."""
        with self._guard:
            return dict(self._unrecorded.get(tenant, {}))

    def unrecorded_text(self, tenant: str) -> str:
        """The same in one line, for people. Empty where there are none."""
        return drift_text({key: repair.drift for key, repair in self.unrecorded(tenant).items()})

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

    def failure(self, tenant: str) -> RepairFailed | None:
        """The first object that cannot be repaired, if any."""
        with self._guard:
            failures = self._failures.get(tenant, {})
            return RepairFailed(f"{min(failures)}: {failures[min(failures)]}") if failures else None

    def forget(self, tenant: str) -> None:
        """Forget a tenant that is gone."""
        with self._guard:
            for by_tenant in (self._suspects, self._unrecorded, self._failures):
                by_tenant.pop(tenant, None)

    def _suspect(self, tenant: str, keys: Iterable[ObjectKey]) -> None:
        with self._guard:
            if not (suspects := set(keys)):
                return
            self._suspects[tenant] |= suspects
        self._queue.add(tenant)

    def _run(self) -> None:
        while (tenant := self._queue.take()) is not None:
            with self._guard:
                suspects = self._suspects.pop(tenant, set())
            try:
                left = self._repair_all(tenant, suspects)
            except Exception:
                log.exception("repair broke", tenant=tenant)
                left = suspects
            self._suspect(tenant, left)
            if left:
                self._queue.failed(tenant)
            else:
                self._queue.done(tenant, _PAUSE_S)

    def _repair_all(self, tenant: str, suspects: Iterable[ObjectKey]) -> set[ObjectKey]:
        """Repair the objects that the cluster itself confirms: the informers' copies may lag behind.

        Returns those that have to be looked at again.
        """
        repairs: dict[ObjectKey, Repair] = {}
        failures: dict[ObjectKey, str] = {}
        again: set[ObjectKey] = set()
        waiting = sorted(suspects, key=_order)
        with self._applied.held(tenant) as applied:
            while applied and waiting:
                key = waiting.pop(0)
                try:
                    repair, is_done = self._repair(tenant, applied, key)
                except ClusterError as error:
                    failures[key] = str(error)  # The others must not wait for it.
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

    def _repair(self, tenant: str, applied: Applied, key: ObjectKey) -> tuple[Repair | None, bool]:
        """Repair one object. Returns what was repaired, if anything, and whether nothing is left to do."""
        kind = KIND_BY_KEY[key.kind]
        if kind not in MANAGED_KINDS and kind not in self._served():
            return None, True  # Its CRD is gone; when it is back, all tenants are checked.
        live = self._cluster.get(kind, key.name, key.namespace)
        desired = applied.to_restore(key, live)
        if desired is None or (live is None and not self._can_be_created(key)):
            return None, True
        target = desired
        if kind == RESOURCE_QUOTA and applied.has_budget:
            target = self._within_budget(tenant, applied, key, desired)
        is_done = target == desired
        if live is not None and object_drift(target, live) is None:
            return None, is_done
        self._restore(kind, key, target, live)
        drift = object_drift(desired, live)
        assert drift is not None
        return Repair(drift, object_change(key, desired, live)), is_done

    def _can_be_created(self, key: ObjectKey) -> bool:
        """Nothing can be created in a namespace that is gone or being deleted. Its own creation follows."""
        if not key.namespace:
            return True
        namespace = self._cluster.get(NAMESPACE, key.namespace)
        return namespace is not None and not is_ending(namespace)

    def _within_budget(self, tenant: str, applied: Applied, key: ObjectKey, quota: Manifest) -> Manifest:
        """The quota, raised no higher than the budget has room for while others are above their share."""
        others = {**(applied.objects or {}), key: quota}
        quotas = tuple(manifest for found, manifest in others.items() if found.kind == key.kind)
        step = budget_step(DesiredState(tenant, quotas, has_budget=True), live_quotas(self._cluster, tenant))
        return step.by_key[key]

    def _restore(self, kind: Kind, key: ObjectKey, desired: Manifest, live: Manifest | None) -> None:
        """Apply the whole object under Pulumi's field manager: no other manager keeps a field of ours."""
        inputs = resource_inputs(desired)
        if live is not None:
            # By its uid the API server refuses to create it again, should it be deleted meanwhile.
            uid = live["metadata"]["uid"]
            inputs = {**inputs, "metadata": {**inputs["metadata"], "uid": uid}}
        try:
            restored = self._cluster.apply(inputs, field_manager=FIELD_MANAGER)
        except ClusterError as error:
            is_immutable = error.status == 422 and kind in _WITH_IMMUTABLE_FIELDS
            if not is_immutable or live is None or is_ending(live):
                raise
            self._cluster.delete(kind, key.name, key.namespace, uid)
            restored = self._cluster.apply(resource_inputs(desired), field_manager=FIELD_MANAGER)
        # Server-side apply leaves fields that only others set, such as one more key in a quota.
        if foreign := repair_patch(desired, restored):
            self._cluster.patch(kind, key.name, foreign, namespace=key.namespace, field_manager=FIELD_MANAGER)


def _order(key: ObjectKey) -> tuple[bool, int, ObjectKey]:
    """Namespaces before their content, bindings last: nobody gets in before the namespace is isolated."""
    return key.kind != NAMESPACE.kind, apply_stage(key), key
