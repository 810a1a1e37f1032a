"""The last applied objects of each tenant, in memory.

A live object has drifted if it differs from its last applied version. `apply` stores the last applied objects
before and after each Pulumi update. `applied_loader` loads them after a restart and after a failed update.
`drift_repair` reads them on its own threads.
"""

import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from stacks.errors import StackBusy, StackError
from tenancy.base.kinds import RESOURCE_QUOTA
from tenancy.base.manifest import Manifest, ObjectKey, Objects
from tenancy.base.quantity import quantity_value
from tenancy.desired import DesiredState
from tenancy.drift import object_drift


@dataclass(frozen=True)
class Applied:
    """The last applied objects of a tenant.

    `next_objects` are the objects of a Pulumi update that is running, or that failed before it was complete.
    If there is no such update, `next_objects` is None.
    """

    # None if the objects are unknown. In this case, no object is restored.
    objects: Objects | None
    next_objects: Objects | None = None
    # Whether the tenant has a budget: a maximum for the sum of its ResourceQuotas.
    has_budget: bool = True
    # Whether the update that applies `next_objects` has failed. In this case, only the stack's state shows
    # which objects the update has changed.
    is_half_done: bool = False
    # Whether the tenant is paused. While it is paused, drift is reported, but not repaired.
    is_paused: bool = False

    @property
    def is_known(self) -> bool:
        return self.objects is not None and not self.is_half_done

    def to_restore(self, key: ObjectKey, live: Manifest | None) -> Manifest | None:
        """The version of the object that a repair must apply. None if the object needs no repair.

        `live` is the live object, or None if it does not exist. During a Pulumi update, the versions from
        before and after the update are both valid. If the live object matches neither version, the result is
        the version from before the update. For a ResourceQuota, the result has the lower limits of the two
        versions, because the update may already have raised other quotas of the same budget.
        """
        if self.objects is None or self.is_paused:
            return None
        versions = [objects[key] for objects in (self.objects, self.next_objects or {}) if key in objects]
        is_removed_or_new = self.next_objects is not None and len(versions) == 1
        if not versions or (live is None and is_removed_or_new):
            return None
        if key.kind == RESOURCE_QUOTA.kind:
            versions.insert(0, _lowest(versions))
        is_as_applied = any(object_drift(version, live) is None for version in versions)
        return None if is_as_applied else versions[0]

    @property
    def all_keys(self) -> set[ObjectKey]:
        return {*(self.objects or ()), *(self.next_objects or ())}

    def keys_in(self, namespace: str) -> set[ObjectKey]:
        return {key for key in self.all_keys if key.namespace == namespace}


class LastApplied:
    """The last applied objects of all tenants. Thread-safe.

    When the deletion of a tenant's objects begins, `forget` removes the tenant's last applied objects.
    """

    def __init__(self) -> None:
        self._by_tenant: dict[str, Applied] = {}
        self._locks: defaultdict[str, threading.RLock] = defaultdict(threading.RLock)

    def get(self, tenant: str) -> Applied | None:
        return self._by_tenant.get(tenant)

    def objects(self, tenant: str) -> Objects | None:
        """The last applied objects. None if they are unknown, or while a Pulumi update is running."""
        applied = self._by_tenant.get(tenant)
        return applied.objects if applied and applied.is_known and applied.next_objects is None else None

    @contextmanager
    def held(self, tenant: str) -> Iterator[Applied | None]:
        """Lock a tenant, and yield its last applied objects. Yields None if there is no entry for the tenant.

        The watcher starts no `up` or `destroy` of the tenant's stack before the `with` block ends.
        """
        with self._locks[tenant]:
            yield self._by_tenant.get(tenant)

    def put(self, desired: DesiredState) -> None:
        """Record that the objects of the desired state are applied."""
        with self._locks[desired.tenant]:
            self._by_tenant[desired.tenant] = Applied(desired.by_key, has_budget=desired.has_budget)

    def set_paused(self, tenant: str, is_paused: bool) -> Applied:
        """Stop the repairs of a paused tenant, or allow them again. Returns the tenant's new entry.

        The entry keeps the last applied objects. Waits until a running repair has ended.
        """
        applied = self._by_tenant.get(tenant) or Applied(None)
        if applied.is_paused == is_paused:
            return applied
        with self._locks[tenant]:
            applied = self._by_tenant.get(tenant) or Applied(None)
            # The watcher runs no Pulumi update of this tenant now. If `next_objects` is set, another process
            # has locked the stack. Only the stack's state shows whether that process has applied the objects.
            is_half_done = applied.next_objects is not None
            applied = replace(applied, is_paused=is_paused, is_half_done=is_half_done)
            self._by_tenant[tenant] = applied
            return applied

    def exchange(self, tenant: str, before: Applied | None, after: Applied) -> bool:
        """Set the tenant's entry to `after`, but only if it is still `before`. Returns whether it was set."""
        with self._locks[tenant]:
            if self._by_tenant.get(tenant) is not before:
                return False
            self._by_tenant[tenant] = after
            return True

    def forget(self, tenant: str) -> None:
        """Forget a tenant's last applied objects, so that drift is no longer repaired.

        Waits until a running repair has ended.
        """
        with self._locks[tenant]:
            # Set a new entry instead of removing the old one, so that `exchange` notices the change.
            self._by_tenant[tenant] = Applied(None)

    @contextmanager
    def updating(self, desired: DesiredState) -> Iterator[None]:
        """Record the start and the result of a Pulumi update. Run the update inside the `with` block.

        If the update raises StackBusy, another process has locked the stack, and may be applying the same
        objects. In this case, the versions from before and after the update both stay valid.
        """
        tenant = desired.tenant
        with self._locks[tenant]:
            before = self._by_tenant.get(tenant) or Applied(None)
            if before.is_paused:
                # The tenant is no longer paused. Its objects may have drift, which the update reverts.
                before = Applied(None)
            running = replace(before, next_objects=desired.by_key, has_budget=True)
            self._by_tenant[tenant] = running
        try:
            yield
        except StackBusy:
            raise
        except StackError:
            self.exchange(tenant, running, replace(running, is_half_done=True))
            raise
        self.put(desired)


def _lowest(quotas: list[Manifest]) -> Manifest:
    """A copy of the first ResourceQuota, with the lowest limit of each resource in all `quotas`."""
    limits = [quota["spec"]["hard"] for quota in quotas]
    lowest = {
        resource: min((hard[resource] for hard in limits if resource in hard), key=quantity_value)
        for resource in limits[0]
    }
    return {**quotas[0], "spec": {**quotas[0]["spec"], "hard": lowest}}
