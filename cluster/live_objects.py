"""The live objects that tenancy manages, grouped by tenant. Informers update them, and workers read them."""

import threading
from collections import defaultdict

from tenancy.base.labels import TENANT_LABEL
from tenancy.base.manifest import Manifest, ObjectKey, object_key
from tenancy.base.quota_keys import COUNT_PREFIX


def tenant_of(manifest: Manifest) -> str:
    """The value of the object's tenant label: the name of a tenant. Empty if the object has no such label."""
    labels = manifest["metadata"].get("labels") or {}
    name: str = labels.get(TENANT_LABEL, "")
    return name


def quota_use(manifest: Manifest) -> Manifest | None:
    """The amounts in `status.used` of a ResourceQuota, without object counts such as `count/configmaps`.

    None if the object is not a ResourceQuota.
    """
    if manifest["kind"] != "ResourceQuota":
        return None
    used = (manifest.get("status") or {}).get("used") or {}
    return {key: amount for key, amount in used.items() if not key.startswith(COUNT_PREFIX)}


class ManagedObjects:
    """All live objects that tenancy manages, grouped by the tenant in their label. Thread-safe."""

    def __init__(self) -> None:
        self._by_tenant: defaultdict[str, dict[ObjectKey, Manifest]] = defaultdict(dict)
        self._guard = threading.Lock()

    def put(self, before: Manifest | None, after: Manifest | None) -> None:
        """Replace the old version of an object, `before`, with the new version, `after`.

        For a new object, `before` is None. For a deleted object, `after` is None.
        """
        with self._guard:
            if before is not None:
                self._by_tenant[tenant_of(before)].pop(object_key(before), None)
            if after is not None:
                self._by_tenant[tenant_of(after)][object_key(after)] = after

    def of(self, tenant: str) -> dict[ObjectKey, Manifest]:
        with self._guard:
            return dict(self._by_tenant.get(tenant, {}))
