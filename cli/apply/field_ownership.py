"""Finds the fields of a Tenant that each field manager owns, in `metadata.managedFields`. No I/O.

A field set has the format of `fieldsV1`: a tree of dicts. The key is `f:NAME` for a field, `k:{…}` for an
item of a list of type `map`, and `v:…` for an item of a list of type `set`. The key `.` means the object or
the list item itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from tenancy.base.labels import SPEC_AUTHOR_ANNOTATION
from tenancy.base.manifest import Manifest
from tenancy.base.names import FIELD_MANAGER

FieldSet = dict[str, Any]

# The field managers of the commands. A command overwrites fields of another command without a conflict.
APPLY_MANAGER: Final = "tenancy-cli"
PAUSE_MANAGER: Final = "tenancy-pause"
CORDON_MANAGER: Final = "tenancy-cordon"
# The field managers of `spec.paused` and `spec.cordoned`.
STATE_MANAGERS: Final = frozenset({PAUSE_MANAGER, CORDON_MANAGER})
ROLLBACK_MANAGER: Final = "tenancy-rollback"
# The field manager of a client-side `kubectl apply`.
CLIENT_SIDE_MANAGER: Final = "kubectl-client-side-apply"
# Earlier versions of `./dev run` applied the sample tenants as FIELD_MANAGER.
COMMAND_MANAGERS: Final = frozenset({APPLY_MANAGER, *STATE_MANAGERS, ROLLBACK_MANAGER, FIELD_MANAGER})

_APPLY: Final = "Apply"
_SPEC: Final = "f:spec"
# A manifest changes these fields only if it contains them. So a manifest without `paused` does not resume a
# tenant.
_STATES: Final = ("paused", "cordoned")
_METADATA: Final = "f:metadata"
_ANNOTATIONS: Final = "f:annotations"
_AUTHOR: Final = f"f:{SPEC_AUTHOR_ANNOTATION}"


@dataclass(frozen=True)
class ApplyMethod:
    """The field manager and the mode with which a manifest is applied. The default is `tenancy apply`."""

    manager: str = APPLY_MANAGER
    # Take over the fields of all other managers. Fields that the manifest does not contain are then removed,
    # except for `paused` and `cordoned` if a command has set them.
    is_forced: bool = False
    # A client-side `kubectl apply`, which does not use managedFields.
    is_client_side: bool = False

    def is_own(self, entry: Manifest) -> bool:
        """Whether `entry`, an entry of managedFields, comes from an earlier use of this method."""
        return bool(entry["manager"] == self.manager and entry["operation"] == _APPLY)

    def is_taken_over(self, entry: Manifest) -> bool:
        """Whether this method takes over the fields of `entry`, an entry of managedFields.

        `tenancy apply` takes over the fields of other commands, such as `tenancy rollback`. A forced method
        takes over the fields of all field managers.
        """
        is_command = self.manager == APPLY_MANAGER and entry["manager"] in COMMAND_MANAGERS
        return not self.is_own(entry) and (self.is_forced or is_command)


def own_fields(tenant: Manifest, new_spec: Manifest, method: ApplyMethod) -> FieldSet:
    """The fields of the live spec that `method` has set before, or takes over from other field managers.

    `new_spec` is the spec in the manifest that is applied.
    """
    fields: FieldSet = {}
    for entry in _entries(tenant):
        if method.is_own(entry):
            fields = _union(fields, entry["fieldsV1"].get(_SPEC, {}))
        elif method.is_taken_over(entry):
            fields = _union(fields, _transferable(entry, new_spec))
    return fields


def other_fields(tenant: Manifest, new_spec: Manifest, method: ApplyMethod) -> FieldSet:
    """The fields of the live spec that other field managers own, and that `method` does not take over.

    `new_spec` is the spec in the manifest that is applied.
    """
    fields: FieldSet = {}
    for entry in _entries(tenant):
        if method.is_own(entry):
            continue
        left = _without(entry, _transferable(entry, new_spec)) if method.is_taken_over(entry) else entry
        fields = _union(fields, left["fieldsV1"].get(_SPEC, {}))
    return fields


def transferred_managed_fields(
    tenant: Manifest, new_spec: Manifest, method: ApplyMethod
) -> list[Manifest] | None:
    """The managedFields after `method` has taken over fields of other managers. None if nothing changes.

    In the result, no other manager owns the annotation that names the author of the spec. So the next command
    can write this annotation without a conflict.
    """
    entries: list[Manifest] = []
    own: Manifest = {"manager": method.manager, "operation": _APPLY, "apiVersion": tenant["apiVersion"]}
    is_changed = False
    for entry in _entries(tenant, with_status=True):
        if method.is_own(entry):
            own = entry
            continue
        left = _without_author(entry)
        if method.is_taken_over(entry) and (fields := _transferable(entry, new_spec)):
            left = _without(left, fields)
        is_changed = is_changed or left != entry
        if left["fieldsV1"] or left == entry:
            entries.append(left)
    if not is_changed:
        return None
    times = [entry["time"] for entry in _entries(tenant) if "time" in entry]
    spec = own_fields(tenant, new_spec, method)
    fields = {**own.get("fieldsV1", {}), **({_SPEC: spec} if spec else {})}
    if not fields:
        return entries
    return [*entries, {"time": max(times, default=""), "fieldsType": "FieldsV1", **own, "fieldsV1": fields}]


def managers_of(tenant: Manifest, path: tuple[str, ...]) -> list[Manifest]:
    """The entries of managedFields that own a field of the spec. `path` contains keys of a field set."""
    return [entry for entry in _entries(tenant) if _owns(entry["fieldsV1"].get(_SPEC, {}), path)]


def _owns(fields: FieldSet | None, path: tuple[str, ...]) -> bool:
    for step in path:
        if fields is None or step not in fields:
            return False
        fields = fields[step]
    return fields is not None


def _entries(tenant: Manifest, *, with_status: bool = False) -> Iterator[Manifest]:
    """The entries of managedFields. Entries for the subresource `status` are included only on request."""
    for entry in tenant["metadata"].get("managedFields") or ():
        if with_status or not entry.get("subresource"):
            yield {"fieldsV1": {}, **entry}


def _transferable(entry: Manifest, new_spec: Manifest) -> FieldSet:
    """The fields of the spec that another field manager can take over from an entry of managedFields.

    There is one exception. If a command, such as `tenancy pause`, has set `paused` or `cordoned`, and the new
    spec does not contain this field, the command keeps the field.
    """
    fields: FieldSet = entry["fieldsV1"].get(_SPEC, {}) if not entry.get("subresource") else {}
    is_command = entry["manager"] in COMMAND_MANAGERS
    kept = [f"f:{state}" for state in _STATES if is_command and state not in new_spec]
    return {key: value for key, value in fields.items() if key not in kept}


def _without(entry: Manifest, spec: FieldSet) -> Manifest:
    """A copy of the entry of managedFields without these fields of the spec."""
    left = {key: value for key, value in entry["fieldsV1"].get(_SPEC, {}).items() if key not in spec}
    fields = {key: value for key, value in entry["fieldsV1"].items() if key != _SPEC}
    return {**entry, "fieldsV1": fields | ({_SPEC: left} if left else {})}


def _without_author(entry: Manifest) -> Manifest:
    """A copy of the entry of managedFields without the annotation that names the author of the spec."""
    metadata = entry["fieldsV1"].get(_METADATA, {})
    annotations = metadata.get(_ANNOTATIONS, {})
    if _AUTHOR not in annotations:
        return entry
    left = {key: value for key, value in annotations.items() if key != _AUTHOR}
    others = {key: value for key, value in metadata.items() if key != _ANNOTATIONS}
    # In managedFields, the key `.` means the map of annotations itself.
    metadata = others | ({_ANNOTATIONS: left} if left.keys() - {"."} else {})
    fields = {key: value for key, value in entry["fieldsV1"].items() if key != _METADATA}
    return {**entry, "fieldsV1": fields | ({_METADATA: metadata} if metadata else {})}


def _union(first: FieldSet, second: FieldSet) -> FieldSet:
    """The fields that are in at least one of the two field sets."""
    keys = dict.fromkeys((*first, *second))
    return {key: _union(first.get(key, {}), second.get(key, {})) for key in keys}
