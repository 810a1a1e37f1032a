"""Decides which tenants to reconcile after a change, and which step a tenant needs next. No I/O."""

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field

from cluster.live_objects import tenant_of
from cluster.tenants import update_record
from tenancy.base.kinds import NAMESPACE
from tenancy.base.manifest import Manifest, ObjectKey, Objects, is_deleting, object_key
from tenancy.base.reasons import Reason
from tenancy.changes import Cause, ObjectChange, UpdateRecord, object_changes
from tenancy.desired import DesiredState
from tenancy.drift import drift_text, object_drift
from watcher.reconciler.last_applied import Applied
from watcher.reconciler.restore_object import Repair


@dataclass(frozen=True)
class Observation:
    """The data from which `next_step` selects a step: a Tenant, its desired state and its live objects."""

    manifest: Manifest
    desired: DesiredState
    live: Mapping[ObjectKey, Manifest]
    # Repairs that are not in the stack's history yet, because no Pulumi update has recorded them.
    repairs: Mapping[ObjectKey, Repair] = field(default_factory=dict)
    # Objects that somebody else changes again after each repair.
    contested: Set[ObjectKey] = frozenset()
    # The last applied objects. None if they are unknown.
    applied: Objects | None = None


@dataclass(frozen=True)
class InSync:
    """Run no Pulumi update: the desired state is applied, and the stack's history needs no new entry."""


@dataclass(frozen=True)
class WaitForNamespaces:
    """Wait, because namespaces of the desired state are terminating. They are created again afterwards."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Contested:
    """Run no Pulumi update to record repairs, because somebody else changes an object after each repair.

    While this continues, the watcher still repairs the object.
    """

    key: ObjectKey
    repairs: Mapping[ObjectKey, Repair]

    @property
    def cause(self) -> str:
        """A text about who changed which fields of the object and when. Empty if this is unknown."""
        return self.repairs[self.key].cause if self.key in self.repairs else ""


@dataclass(frozen=True)
class RunUpdate:
    """Run `pulumi up`. `message` and `record` describe the update in the stack's history.

    `repairs` are the repairs that the update records. `is_retry` is true if an earlier update has failed.
    """

    message: str
    record: UpdateRecord
    repairs: Mapping[ObjectKey, Repair] = field(default_factory=dict)
    is_retry: bool = False

    @property
    def drift(self) -> dict[ObjectKey, str]:
        """The drift of each repaired object, as a short phrase."""
        return {key: repair.drift for key, repair in self.repairs.items()}

    @property
    def needs_refresh(self) -> bool:
        """Whether `up` must refresh the stack's state, because the cluster may differ from the state."""
        return bool(self.repairs) or self.is_retry


Step = InSync | WaitForNamespaces | Contested | RunUpdate


class MustWait(Exception):
    """The tenant must wait for a change in the cluster, such as the deletion of a namespace.

    After this change, the watcher queues the tenant again. `applied` is the intermediate state that the
    watcher applied before the wait. None if it applied no such state.
    """

    reason = Reason.NAMESPACE_TERMINATING

    def __init__(self, message: str, applied: DesiredState | None = None) -> None:
        super().__init__(message)
        self.applied = applied


def next_step(seen: Observation) -> Step:
    """The next step for a tenant."""
    if names := _terminating_namespaces(seen):
        return WaitForNamespaces(names)
    if _status(seen).get("appliedDigest") != seen.desired.digest:
        return _update_to_desired(seen)
    if seen.repairs.keys() - seen.contested:
        return _update_after_repairs(seen)
    return Contested(min(seen.contested), seen.repairs) if seen.contested else InSync()


def is_applied(step: Step | None) -> bool | None:
    """Whether the newest spec was already applied before this step. None if this is unknown."""
    match step:
        case InSync() | Contested():
            return True
        case RunUpdate():
            return bool(step.repairs)
        case _:
            return None


def _terminating_namespaces(seen: Observation) -> tuple[str, ...]:
    return tuple(
        key.name
        for key, live_object in seen.live.items()
        if key in seen.desired.by_key and is_deleting(live_object)
    )


def _update_to_desired(seen: Observation) -> RunUpdate:
    """The update that applies the desired state."""
    manifest, status = seen.manifest, _status(seen)
    changes = _changes_of_update(seen)
    generation = manifest["metadata"]["generation"]
    if status.get("observedGeneration") == generation and status.get("phase") == "Active":
        # The spec has not changed since the last update. So the plan has changed, or a CRD was installed or
        # removed.
        missing = {integration: list(crds) for integration, crds in seen.desired.missing.items()}
        if (status.get("missingCrds") or {}) != missing:
            return RunUpdate("integrations changed", update_record(manifest, Cause.INTEGRATIONS, changes))
        plan = (manifest.get("spec") or {}).get("plan", "")
        return RunUpdate(f"plan {plan} changed", update_record(manifest, Cause.PLAN, changes))
    is_retry = status.get("observedGeneration") == generation and "lastUpdate" in status
    record = update_record(manifest, Cause.SPEC, changes)
    return RunUpdate(f"spec generation {generation}", record, is_retry=is_retry)


def _changes_of_update(seen: Observation) -> tuple[ObjectChange, ...]:
    """The changes to objects that the update makes because of a new spec, plan or CRD.

    The tenant may have been paused until now, so its objects can have drift. The result does not contain an
    object that has only drift, because a later update records the repair of this object.
    """
    desired, applied = seen.desired.by_key, seen.applied or {}
    return tuple(
        change
        for change in object_changes(seen.desired, seen.live)
        if change.key not in desired or applied.get(change.key) != desired[change.key]
    )


def _update_after_repairs(seen: Observation) -> RunUpdate:
    """The update that records repairs in the stack's history."""
    changes = tuple(repair.change for repair in seen.repairs.values())
    drift = {key: repair.drift for key, repair in seen.repairs.items()}
    record = update_record(seen.manifest, Cause.DRIFT, changes)
    return RunUpdate(f"drift: {drift_text(drift)}", record, seen.repairs)


def _status(seen: Observation) -> Manifest:
    return seen.manifest.get("status") or {}


def tenants_to_requeue(
    desired_states: Mapping[str, DesiredState],
    applied: Callable[[str], Applied | None],
    before: Manifest | None,
    after: Manifest | None,
) -> set[str]:
    """The names of the tenants to reconcile after a change to an object that belongs to a tenant.

    `before` and `after` are the object before and after the change. The result is empty if the object matches
    the desired state, for example because the watcher itself has changed it. A paused tenant is reconciled if
    its drift has changed. `applied` returns the last applied objects of a tenant.
    """
    return {
        name
        for manifest in (before, after)
        if manifest
        and (name := tenant_of(manifest))
        and (
            _concerns(desired_states.get(name), object_key(manifest), after)
            or _changes_paused_drift(applied(name), object_key(manifest), before, after)
        )
    }


def _changes_paused_drift(
    applied: Applied | None, key: ObjectKey, before: Manifest | None, after: Manifest | None
) -> bool:
    if applied is None or not applied.is_paused or key not in (applied.objects or {}):
        return False
    version = (applied.objects or {})[key]
    return object_drift(version, before) != object_drift(version, after)


def _concerns(desired: DesiredState | None, key: ObjectKey, after: Manifest | None) -> bool:
    if desired is None:
        return key.kind == NAMESPACE.kind and after is None
    if key not in desired.by_key:
        return after is not None or key.kind == NAMESPACE.kind
    return is_deleting(after) or object_drift(desired.by_key[key], after) is not None
