"""Restores one Kubernetes object to the version that the watcher applied last. Uses server-side apply."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.tenants import live_quotas
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
from tenancy.base.manifest import Manifest, ObjectKey, is_deleting
from tenancy.base.names import FIELD_MANAGER
from tenancy.changes import ObjectChange, object_change
from tenancy.desired import DesiredState
from tenancy.drift import object_drift, repair_patch
from tenancy.quota_transition import budget_step
from tenancy.registrations import resource_inputs
from watcher.reconciler.last_applied import Applied

# Kinds with immutable fields. If the API server rejects a change to such an object, a repair deletes the
# object and creates it again. A repair never deletes a namespace, because it contains the users' objects.
_WITH_IMMUTABLE_FIELDS: Final = (ROLE_BINDING, RESOURCE_QUOTA, CONFIG_MAP, SERVICE)
# The maximum number of fields that `Repair.cause` lists.
_MAX_FIELDS: Final = 3


@dataclass(frozen=True)
class Repair:
    """A repair of an object. `drift` describes the manual change, e.g. `deleted`.

    `change` contains the fields that the repair changes back. `cause` describes who changed which fields and
    when. It is empty if this is unknown.
    """

    drift: str
    change: ObjectChange
    cause: str = ""


def restore_object(
    cluster: Cluster, served: Collection[Kind], tenant: str, applied: Applied, key: ObjectKey
) -> tuple[Repair | None, bool]:
    """Restore an object if the live object differs from the last applied object.

    The first returned value is the repair, or None if there was nothing to repair. The second returned value
    is false if the object must be restored again later. For example, a ResourceQuota cannot get its full
    limit yet, because the sum of the tenant's quotas would exceed the tenant's budget. Raises ClusterError if
    a request fails.
    """
    kind = KIND_BY_KEY[key.kind]
    if kind not in MANAGED_KINDS and kind not in served:
        return None, True  # The CRD is deleted. When it is installed again, all tenants are reconciled.
    live = cluster.get(kind, key.name, key.namespace)
    desired = applied.to_restore(key, live)
    if desired is None or (live is None and not _can_be_created(cluster, key)):
        return None, True
    target = desired
    if kind == RESOURCE_QUOTA and applied.has_budget:
        target = _within_budget(cluster, tenant, applied, key, desired)
    is_done = target == desired
    if live is not None and object_drift(target, live) is None:
        return None, is_done
    _apply(cluster, kind, key, target, live)
    drift = object_drift(desired, live)
    assert drift is not None
    change = object_change(key, desired, live)
    return Repair(drift, change, _cause(live, change)), is_done


def _cause(live: Manifest | None, change: ObjectChange) -> str:
    """A text about the last change by another field manager: the manager's name, the fields and the time.

    Empty if only the platform's field manager has changed the object, or if the object is deleted.
    """
    entries = [
        entry
        for entry in ((live or {"metadata": {}})["metadata"].get("managedFields") or ())
        if entry["manager"] != FIELD_MANAGER and not entry.get("subresource")
    ]
    if not entries:
        return ""
    last = max(entries, key=lambda entry: str(entry.get("time", "")))
    fields = ", ".join(field.path for field in change.fields[:_MAX_FIELDS])
    more = f" and {len(change.fields) - _MAX_FIELDS} more" if len(change.fields) > _MAX_FIELDS else ""
    return (
        f"the field manager {last['manager']} changed {fields}{more} at {last.get('time', 'an unknown time')}"
    )


def _can_be_created(cluster: Cluster, key: ObjectKey) -> bool:
    """Whether the object's namespace exists and is not terminating."""
    if not key.namespace:
        return True
    namespace = cluster.get(NAMESPACE, key.namespace)
    return namespace is not None and not is_deleting(namespace)


def _within_budget(
    cluster: Cluster, tenant: str, applied: Applied, key: ObjectKey, quota: Manifest
) -> Manifest:
    """The ResourceQuota with the limits that the tenant's budget allows now.

    The limits can be below the desired limits until other quotas of the tenant are lowered.
    """
    objects = {**(applied.objects or {}), key: quota}
    quotas = tuple(manifest for other, manifest in objects.items() if other.kind == key.kind)
    step = budget_step(DesiredState(tenant, quotas, has_budget=True), live_quotas(cluster, tenant))
    return step.by_key[key]


def _apply(cluster: Cluster, kind: Kind, key: ObjectKey, desired: Manifest, live: Manifest | None) -> None:
    """Apply the whole object with Pulumi's field manager, so that no second field manager owns its fields."""
    inputs = resource_inputs(desired)
    if live is not None:
        # With the uid, the API server does not create the object again if it was deleted in the meantime.
        uid = live["metadata"]["uid"]
        inputs = {**inputs, "metadata": {**inputs["metadata"], "uid": uid}}
    try:
        restored = cluster.apply(inputs, field_manager=FIELD_MANAGER)
    except ClusterError as error:
        is_immutable = error.status == 422 and kind in _WITH_IMMUTABLE_FIELDS
        if not is_immutable or live is None or is_deleting(live):
            raise
        cluster.delete(kind, key.name, key.namespace, uid)
        restored = cluster.apply(resource_inputs(desired), field_manager=FIELD_MANAGER)
    # Server-side apply keeps fields that only other managers own, such as an added resource in a quota.
    if foreign_fields := repair_patch(desired, restored):
        cluster.patch(kind, key.name, foreign_fields, namespace=key.namespace, field_manager=FIELD_MANAGER)
