"""The changes that an update makes to the fields of a tenant's objects. No I/O.

An update is one run of `pulumi up`. A preview shows the changes that the next update would make. The watcher
stores the changes of each update in the stack's history.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pydantic import Field

from tenancy.base.kinds import NAMESPACE
from tenancy.base.manifest import Manifest, ObjectKey, is_deleting
from tenancy.base.model import Model, StoredModel
from tenancy.drift import field_differences, unwanted
from tenancy.spec.tenant_status import SpecChange

if TYPE_CHECKING:
    from tenancy.desired import DesiredState


class Operation(StrEnum):
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    # The namespace no longer belongs to the tenant, but the platform does not delete it.
    RELEASE = "release"


class FieldChange(StoredModel):
    """A changed field. For an added field, `before` is None. For a removed field, `after` is None."""

    path: str
    before: Any = None
    after: Any = None


class ObjectChange(StoredModel):
    """A created, changed, deleted or released object.

    `fields` contains the changed fields. It is empty if the object was not changed, but created, deleted or
    released.
    """

    operation: Operation
    kind: str
    namespace: str = ""
    name: str
    fields: tuple[FieldChange, ...] = ()

    @property
    def key(self) -> ObjectKey:
        return ObjectKey(self.kind, self.namespace, self.name)


class Differences(Model):
    """The drift and the pending changes of a tenant. An attribute is None if it cannot be computed."""

    # The changes that restore the last applied objects. They revert manual changes to the live objects.
    drift: tuple[ObjectChange, ...] | None
    # The differences between the last applied objects and the desired objects. They are not applied yet.
    pending_changes: tuple[ObjectChange, ...] | None = ()


class Cause(StrEnum):
    """Why the watcher ran an update."""

    SPEC = "spec"
    PLAN = "plan"
    INTEGRATIONS = "integrations"
    DRIFT = "drift"


class UpdateRecord(StoredModel):
    """The spec and the changes of one update of a stack. Pulumi stores the record in the stack's history."""

    cause_type: Cause = Field(default=Cause.SPEC, description="Why the update ran.")
    generation: int = Field(description="The generation of the spec.")
    written_by: str = Field(default="", description="The field manager that wrote the spec last.")
    spec: dict[str, Any] = Field(description="The tenant's spec.")
    changes: tuple[ObjectChange, ...] = ()
    spec_changes: tuple[SpecChange, ...] = Field(
        default=(),
        # Stored next to the record, because older versions ignore a record with an unknown field.
        exclude=True,
        description="The changes to the spec since the last successful update.",
    )

    @property
    def spec_change(self) -> SpecChange | None:
        """The change to the spec that caused the update. None if the update has another cause."""
        if self.cause_type is not Cause.SPEC:
            return None
        return next((each for each in self.spec_changes if each.generation == self.generation), None)


def tenant_differences(
    desired: "DesiredState | None", applied: "DesiredState | None", live: Mapping[ObjectKey, Manifest]
) -> Differences:
    """The drift and the pending changes of a tenant.

    The drift is the difference between `live` and `applied`. The pending changes are the difference between
    `applied` and `desired`. Pass None for `desired` if the spec is rejected, and None for `applied` if the
    last applied objects are unknown.
    """
    return Differences(
        drift=object_changes(applied, live) if applied else None,
        pending_changes=object_changes(desired, applied.by_key) if desired and applied else None,
    )


def object_changes(desired: "DesiredState", live: Mapping[ObjectKey, Manifest]) -> tuple[ObjectChange, ...]:
    """The changes that turn a tenant's live objects into the desired objects.

    The function treats objects that are being deleted as deleted. It also treats all objects in a terminating
    namespace as deleted.
    """
    terminating = {key for key, live_object in live.items() if is_deleting(live_object)}
    present = {
        key: live_object
        for key, live_object in live.items()
        if key not in terminating and ObjectKey(NAMESPACE.kind, "", key.namespace) not in terminating
    }
    changes = [
        change
        for key, manifest in desired.by_key.items()
        if (change := object_change(key, manifest, present.get(key))).operation is not Operation.UPDATE
        or change.fields
    ]
    for key in unwanted(desired, present):
        is_kept = desired.retains and key.kind == NAMESPACE.kind
        changes.append(_of(Operation.RELEASE if is_kept else Operation.DELETE, key))
    return tuple(changes)


def object_change(key: ObjectKey, desired: Manifest, live: Manifest | None) -> ObjectChange:
    """The change that turns a live object into the desired object.

    `live` is None if the object does not exist. If the objects do not differ, the result has the operation
    UPDATE and empty `fields`.
    """
    if live is None:
        return _of(Operation.CREATE, key)
    fields = tuple(
        FieldChange(path=path, before=before, after=after)
        for path, before, after in field_differences(desired, live)
    )
    return _of(Operation.UPDATE, key, fields)


def _of(operation: Operation, key: ObjectKey, fields: tuple[FieldChange, ...] = ()) -> ObjectChange:
    return ObjectChange(
        operation=operation, kind=key.kind, namespace=key.namespace, name=key.name, fields=fields
    )
