"""Reads the last applied version of a tenant's objects from the tenant's stack.

A live object has drifted if it differs from its last applied version. If the newest spec of a tenant is
applied, this version can be computed from the spec. Otherwise, the watcher and `tenancy diff` use this
module.
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
    """The last applied version of the tenant's objects. Raises StackError if the stack cannot be read.

    `status.appliedDigest` of the Tenant identifies this version. The field is not set before the first
    update. It is also not set if the last update failed after it had changed some objects. In both cases,
    this function returns the result of `read_half_done`.
    """
    digest = (tenant.get("status") or {}).get("appliedDigest")
    if not digest:
        return read_half_done(stacks, tenant, facts)
    name = tenant["metadata"]["name"]
    for update in _updates(stacks, name):
        desired = desired_from_spec(name, update.record.spec, facts) if update.record else None
        if desired and desired.digest == digest:
            return desired
    # The plan or the served kinds have changed since the update. So no recorded spec results in this digest.
    return _state(name, _objects_in_stack(stacks, tenant))


def read_half_done(
    stacks: "Stacks",
    tenant: Manifest,
    facts: Facts,
    before: Objects | None = None,
    after: Objects | None = None,
) -> DesiredState:
    """The last applied version of each object after a failed update.

    The update may have changed only some of the objects. `before` contains the objects from before the
    update. If `before` is None, the function reads these objects from the stack's history. `after` contains
    the objects that the update should have applied. If `after` is None, the function computes them from the
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
    """The desired state that results from the spec of the tenant `name`. None if the spec is rejected."""
    try:
        return decide({"metadata": {"name": name}, "spec": spec}, facts).desired
    except Rejection:
        return None


def half_done_objects(state: Objects, before: Objects | None, after: Objects | None) -> Objects:
    """The last applied version of each object after a failed update.

    `state` contains the objects in the stack's state, `before` the objects from before the update, and
    `after` the objects that the update should have applied. `before` and `after` are None if they are
    unknown. If the version of an object in `before` or `after` matches the state, the result contains this
    version.

    The objects in the state are not always the last applied versions. If other users edit or delete an
    object, a refresh makes the same change in the state.
    """
    versions = [objects for objects in (before, after) if objects is not None]
    # The update neither creates nor deletes these objects. So they were applied, even if a refresh has
    # removed them from the state.
    kept = before.keys() & after.keys() if before is not None and after is not None else set()
    applied: dict[ObjectKey, Manifest] = {}
    for key in {*state, *kept}:
        candidates = [objects[key] for objects in versions if key in objects]
        recorded = state.get(key)
        matching = (each for each in candidates if recorded and object_drift(each, recorded) is None)
        applied[key] = next(matching, candidates[0] if candidates else state[key])
    return applied


def _state(name: str, objects: Objects) -> DesiredState:
    # It is unknown whether the tenant's quotas share a budget. Assume that they do, because then repairs of
    # quotas are stricter.
    return DesiredState(name, tuple(objects.values()), has_budget=True)


def _updates(stacks: "Stacks", name: str) -> list[Update]:
    try:
        return stacks.history(name)
    except StackError:
        return []  # The stack's state may still be readable.


def _objects_in_stack(stacks: "Stacks", tenant: Manifest) -> Objects:
    """The objects in the state of the tenant's stack. Empty if the tenant has never had a stack.

    Raises StackNotFound if the stack is missing, although the Tenant's status contains an update.
    """
    try:
        manifests = stacks.objects(tenant["metadata"]["name"])
    except StackNotFound:
        if "lastUpdate" in (tenant.get("status") or {}):
            raise
        manifests = []
    return {object_key(manifest): manifest for manifest in manifests}
