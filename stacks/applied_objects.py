"""Reads the last applied objects of a tenant from its stack.

A live object has drifted if it differs from its last applied version. The watcher and `tenancy diff` use this
module if the newest spec of the tenant is not applied.
"""

from typing import TYPE_CHECKING

from stacks.errors import StackError, StackNotFound
from stacks.history import Update
from tenancy.base.errors import Rejection
from tenancy.base.manifest import Manifest, ObjectKey, Objects, object_key
from tenancy.decision import Facts, decide
from tenancy.desired import DesiredState
from tenancy.drift import object_drift

if TYPE_CHECKING:
    from stacks.stack import Stacks


def read_applied(stacks: "Stacks", tenant: Manifest, facts: Facts) -> DesiredState:
    """The state that was applied last. Raises StackError if the stack cannot be read.

    If `status.appliedDigest` is not set, the last update failed before it was complete, or there was no
    update.
    """
    digest = (tenant.get("status") or {}).get("appliedDigest")
    if not digest:
        return read_half_done(stacks, tenant, facts)
    name = tenant["metadata"]["name"]
    for update in _updates(stacks, name):
        desired = desired_from_spec(name, update.record.spec, facts) if update.record else None
        if desired and desired.digest == digest:
            return desired
    # The plan or the served kinds have changed since the update, so no recorded spec leads to the digest.
    return _state(name, _objects_in_stack(stacks, tenant))


def read_half_done(
    stacks: "Stacks",
    tenant: Manifest,
    facts: Facts,
    before: Objects | None = None,
    after: Objects | None = None,
) -> DesiredState:
    """The last applied objects, if an update from `before` to `after` has failed half way.

    `before` contains the objects from before the update. If it is None, they come from the stack's history.
    `after` contains the objects that the update should have applied. If it is None, they come from the
    tenant's spec. Raises StackError if the stack cannot be read.
    """
    name = tenant["metadata"]["name"]
    if before is None:
        updates = _updates(stacks, name)
        newest = next((update for update in updates if update.result == "succeeded"), None)
        succeeded = desired_from_spec(name, newest.record.spec, facts) if newest and newest.record else None
        before = succeeded.by_key if succeeded else None
    if after is None:
        desired = desired_from_spec(name, tenant["spec"], facts)
        after = desired.by_key if desired else None
    return _state(name, half_done_objects(_objects_in_stack(stacks, tenant), before, after))


def desired_from_spec(name: str, spec: Manifest, facts: Facts) -> DesiredState | None:
    """The desired state of a spec. None if the spec is rejected."""
    try:
        return decide({"metadata": {"name": name}, "spec": spec}, facts).desired
    except Rejection:
        return None


def half_done_objects(state: Objects, before: Objects | None, after: Objects | None) -> Objects:
    """The last applied objects, if an update from `before` to `after` has failed half way.

    `state` contains the objects in the stack's state. The state shows which objects the update has changed.
    The content of an object in the state is not reliable, because a refresh copies edits of other users into
    the state. A refresh also removes objects that other users have deleted. `before` and `after` are None if
    they are unknown.
    """
    versions = [objects for objects in (before, after) if objects is not None]
    # The update neither creates nor deletes these objects, so they exist even if the state lacks them.
    kept = before.keys() & after.keys() if before is not None and after is not None else set()
    applied: dict[ObjectKey, Manifest] = {}
    for key in {*state, *kept}:
        candidates = [objects[key] for objects in versions if key in objects]
        recorded = state.get(key)
        matching = (each for each in candidates if recorded and object_drift(each, recorded) is None)
        applied[key] = next(matching, candidates[0] if candidates else state[key])
    return applied


def _state(name: str, objects: Objects) -> DesiredState:
    # It is unknown whether the quotas share a budget. Repairs are stricter with a budget, so assume a budget.
    return DesiredState(name, tuple(objects.values()), has_budget=True)


def _updates(stacks: "Stacks", name: str) -> list[Update]:
    try:
        return stacks.history(name)
    except StackError:
        return []  # The stack's state may still be readable.


def _objects_in_stack(stacks: "Stacks", tenant: Manifest) -> Objects:
    """The objects in the stack's state. Empty if the tenant has no stack, because it was never applied."""
    try:
        manifests = stacks.objects(tenant["metadata"]["name"])
    except StackNotFound:
        if "lastUpdate" in (tenant.get("status") or {}):
            raise
        manifests = []
    return {object_key(manifest): manifest for manifest in manifests}
