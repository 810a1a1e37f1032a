"""The objects that each tenant was last applied with: what drift is measured against in every state.

The reconciler records them around each `up`. `watcher.repairs` reads them, in threads of its own.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from stacks.errors import StackBusy, StackError
from stacks.stack import Stacks
from tenancy.desired import DesiredState, desired_state
from tenancy.drift import object_drift
from tenancy.errors import TenancyError
from tenancy.kinds import Kind
from tenancy.manifest import Manifest, ObjectKey, object_key
from tenancy.plans import Plans
from tenancy.tenant import tenant_from_manifest

Objects = Mapping[ObjectKey, Manifest]


@dataclass(frozen=True)
class Applied:
    """The last applied objects, and those of an update that is running or has failed half way."""

    objects: Objects
    next_objects: Objects | None = None

    def to_restore(self, key: ObjectKey, live: Manifest | None) -> Manifest | None:
        """The object to apply in place of the live one; None if the live one is as applied, or not ours.

        While an update is half done, each object may be as before or as after it.
        """
        versions = [
            objects[key]
            for objects in (self.objects, self.next_objects or {})
            if objects.get(key) is not None
        ]
        is_removed_or_new = self.next_objects is not None and len(versions) == 1
        if not versions or (live is None and is_removed_or_new):
            return None
        is_as_applied = any(object_drift(version, live) is None for version in versions)
        # Of two versions the older: quotas that share a budget are raised by the update alone.
        return None if is_as_applied else versions[0]

    def keys_in(self, namespace: str) -> set[ObjectKey]:
        return {key for key in (*self.objects, *(self.next_objects or ())) if key.namespace == namespace}

    @property
    def keys(self) -> set[ObjectKey]:
        return {*self.objects, *(self.next_objects or ())}


class LastApplied:
    """The last applied objects of all tenants. Thread-safe.

    A tenant that is paused or being destroyed has none, and neither has one before its first `up`.
    """

    def __init__(self, stacks: Stacks, plans: Callable[[], Plans], served: Callable[[], frozenset[Kind]]):
        self._stacks = stacks
        self._plans = plans
        self._served = served
        self._by_tenant: dict[str, Applied] = {}
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def get(self, tenant: str) -> Applied | None:
        return self._by_tenant.get(tenant)

    @contextmanager
    def held(self, tenant: str) -> Iterator[Applied | None]:
        """Keep the objects as they are: an update or a destroy does not begin meanwhile."""
        with self._locks[tenant]:
            yield self._by_tenant.get(tenant)

    def put(self, desired: DesiredState) -> None:
        """Record that these objects are applied."""
        with self._locks[desired.tenant]:
            self._by_tenant[desired.tenant] = Applied(desired.by_key)

    def forget(self, tenant: str) -> None:
        """Nothing of the tenant is repaired from now on; waits for a repair that is running."""
        with self._locks[tenant]:
            self._by_tenant.pop(tenant, None)

    @contextmanager
    def updating(self, desired: DesiredState) -> Iterator[None]:
        """Record an update to these objects: that it runs, and how it ended."""
        tenant = desired.tenant
        with self._locks[tenant]:
            before = self._by_tenant.get(tenant)
            self._by_tenant[tenant] = Applied(before.objects if before else {}, desired.by_key)
        try:
            yield
        except StackBusy:
            with self._locks[tenant]:  # It has not begun.
                self._by_tenant.pop(tenant)
                if before:
                    self._by_tenant[tenant] = before
            raise
        self.put(desired)

    def ensure(self, manifest: Manifest) -> str:
        """Find out what a tenant was last applied with, if an earlier process applied it.

        Returns why that cannot be read; empty where it is known or nothing was ever applied.
        """
        name, status = manifest["metadata"]["name"], manifest.get("status") or {}
        digest = status.get("appliedDigest")
        applied = self._by_tenant.get(name)
        if (applied and applied.objects) or not (digest or status.get("lastUpdate")):
            return ""
        try:
            objects = self._from_spec(name, manifest["spec"], digest)
            if objects is None:
                objects = self._from_history(name, digest)
            if objects is None:
                objects = {object_key(found): found for found in self._stacks.objects(name)}
        except StackError as error:
            return str(error)
        with self._locks[name]:
            known = self._by_tenant.get(name)
            self._by_tenant[name] = Applied(objects, known.next_objects if known else None)
        return ""

    def _from_spec(self, name: str, spec: Manifest, digest: str | None) -> Objects | None:
        """The objects of a spec, if it is the one that was applied."""
        try:
            tenant = tenant_from_manifest({"metadata": {"name": name}, "spec": spec})
            desired = desired_state(tenant, self._plans(), self._served())
        except TenancyError:
            return None
        return desired.by_key if desired.digest == digest else None

    def _from_history(self, name: str, digest: str | None) -> Objects | None:
        if digest is None:
            return None  # Half done: only the state knows which objects are as before.
        for update in self._stacks.history(name):
            if update.record and (objects := self._from_spec(name, update.record.spec, digest)):
                return objects
        return None
