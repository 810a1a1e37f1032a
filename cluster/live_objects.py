"""The live managed objects of each tenant. Informers update them, and workers read them."""

import threading
from collections import defaultdict

from tenancy.base.labels import TENANT_LABEL
from tenancy.base.manifest import Manifest, ObjectKey, object_key


def tenant_of(manifest: Manifest) -> str:
    """The name of the tenant in the object's label, or empty if the object has no such label."""
    labels = manifest["metadata"].get("labels") or {}
    name: str = labels.get(TENANT_LABEL, "")
    return name


def quota_use(manifest: Manifest) -> Manifest | None:
    """The used amounts in a ResourceQuota's status, or None for other kinds."""
    used: Manifest | None = (manifest.get("status") or {}).get("used")
    return used if manifest["kind"] == "ResourceQuota" else None


class ManagedObjects:
    """The managed objects, by the tenant in their label. Thread-safe."""

    def __init__(self) -> None:
        self._by_tenant: defaultdict[str, dict[ObjectKey, Manifest]] = defaultdict(dict)
        self._guard = threading.Lock()

    def put(self, before: Manifest | None, after: Manifest | None) -> None:
        """Replace an object. `before` is None for a new object, and `after` is None for a deleted object."""
        with self._guard:
            if before is not None:
                self._by_tenant[tenant_of(before)].pop(object_key(before), None)
            if after is not None:
                self._by_tenant[tenant_of(after)][object_key(after)] = after

    def of(self, tenant: str) -> dict[ObjectKey, Manifest]:
        with self._guard:
            return dict(self._by_tenant.get(tenant, {}))
