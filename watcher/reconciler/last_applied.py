"""The last applied objects of each tenant. Drift is measured against them, whatever the tenant's status is.

`apply` records them around each update, `applied_loader` after a restart and after a failed update. `repairs`
reads them in its own threads.
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
    """The last applied objects, and those of an update that runs or has failed half way."""

    # None: unknown, so nothing is restored.
    objects: Objects | None
    next_objects: Objects | None = None
    # Whether the quotas share a budget.
    has_budget: bool = True
    # Whether the update has failed: only the stack's state says which objects are as before.
    is_half_done: bool = False

    @property
    def is_known(self) -> bool:
        return self.objects is not None and not self.is_half_done

    def to_restore(self, key: ObjectKey, live: Manifest | None) -> Manifest | None:
        """The object to apply in place of the live one; None if the live one is as applied, or not managed.

        During an update an object may have its version from before or after the update. Any other version is
        replaced by the one from before; a quota by one with the lower of both limits, because the update may
        already have raised other quotas of the budget.
        """
        if self.objects is None:
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

    A tenant that is paused or being destroyed has none.
    """

    def __init__(self) -> None:
        self._by_tenant: dict[str, Applied] = {}
        self._locks: defaultdict[str, threading.RLock] = defaultdict(threading.RLock)

    def get(self, tenant: str) -> Applied | None:
        return self._by_tenant.get(tenant)

    @contextmanager
    def held(self, tenant: str) -> Iterator[Applied | None]:
        """Hold back updates and destroys of a tenant within the context."""
        with self._locks[tenant]:
            yield self._by_tenant.get(tenant)

    def put(self, desired: DesiredState) -> None:
        """Record that these objects are applied."""
        with self._locks[desired.tenant]:
            self._by_tenant[desired.tenant] = Applied(desired.by_key, has_budget=desired.has_budget)

    def exchange(self, tenant: str, before: Applied | None, after: Applied) -> bool:
        """Replace `before` by `after`; return False if another value was recorded in the meantime."""
        with self._locks[tenant]:
            if self._by_tenant.get(tenant) is not before:
                return False
            self._by_tenant[tenant] = after
            return True

    def forget(self, tenant: str) -> None:
        """Stop repairing a tenant; waits for a repair that is running."""
        with self._locks[tenant]:
            # Not removed: `exchange` must notice the change.
            self._by_tenant[tenant] = Applied(None)

    @contextmanager
    def updating(self, desired: DesiredState) -> Iterator[None]:
        """Record that an update to these objects runs within the context, and how it ends.

        If the stack is busy, another process may be applying the same objects, so both versions stay valid.
        """
        tenant = desired.tenant
        with self._locks[tenant]:
            before = self._by_tenant.get(tenant) or Applied(None)
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
    """The first quota, with the lowest limit of all the quotas for each resource."""
    limits = [quota["spec"]["hard"] for quota in quotas]
    lowest = {
        resource: min((hard[resource] for hard in limits if resource in hard), key=quantity_value)
        for resource in limits[0]
    }
    return {**quotas[0], "spec": {**quotas[0]["spec"], "hard": lowest}}
