"""What would change, or has changed, object by object and field by field. Pure.

One form for all: previews show it before, the watcher records it with each update, history shows it after.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import Field

from tenancy.base.kinds import NAMESPACE
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.base.model import Model
from tenancy.desired import DesiredState
from tenancy.drift import field_differences, unwanted


class Operation(StrEnum):
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    # A namespace that leaves the tenant and stays in the cluster.
    RELEASE = "release"


class FieldChange(Model):
    """A field that becomes another. None: the field is not there."""

    path: str
    before: Any = None
    after: Any = None


class ObjectChange(Model):
    """One object that is made, changed or removed. Only a changed one tells its fields."""

    operation: Operation
    kind: str
    namespace: str = ""
    name: str
    fields: tuple[FieldChange, ...] = ()

    @property
    def key(self) -> ObjectKey:
        return ObjectKey(self.kind, self.namespace, self.name)


class UpdateRecord(Model):
    """What an update was made from, and what it changed. Every backend keeps it in the stack's history."""

    generation: int = Field(description="The generation of the spec.")
    written_by: str = Field(
        default="", description="Who wrote the spec last, by the name of its field manager."
    )
    spec: dict[str, Any] = Field(description="The tenant's spec, as it stood.")
    changes: tuple[ObjectChange, ...] = ()


def object_changes(desired: DesiredState, live: Mapping[ObjectKey, Manifest]) -> tuple[ObjectChange, ...]:
    """What makes the live objects of a tenant the desired ones. What is being deleted counts as gone, and so
    does all that is in a namespace that is."""
    ending = {key for key, found in live.items() if "deletionTimestamp" in found["metadata"]}
    there = {
        key: found
        for key, found in live.items()
        if key not in ending and ObjectKey(NAMESPACE.kind, "", key.namespace) not in ending
    }
    changes = [
        change
        for key, wanted in desired.by_key.items()
        if (change := object_change(key, wanted, there.get(key))).operation is not Operation.UPDATE
        or change.fields
    ]
    for key in unwanted(desired, there):
        is_kept = desired.retains and key.kind == NAMESPACE.kind
        changes.append(_of(Operation.RELEASE if is_kept else Operation.DELETE, key))
    return tuple(changes)


def object_change(key: ObjectKey, wanted: Manifest, found: Manifest | None) -> ObjectChange:
    """What makes one live object the desired one: an update without fields if it is that already."""
    if found is None:
        return _of(Operation.CREATE, key)
    fields = tuple(
        FieldChange(path=path, before=before, after=after)
        for path, before, after in field_differences(wanted, found)
    )
    return _of(Operation.UPDATE, key, fields)


def _of(operation: Operation, key: ObjectKey, fields: tuple[FieldChange, ...] = ()) -> ObjectChange:
    return ObjectChange(
        operation=operation, kind=key.kind, namespace=key.namespace, name=key.name, fields=fields
    )
