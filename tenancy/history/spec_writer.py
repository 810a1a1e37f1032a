"""Finds the field manager that wrote a Tenant's spec, in `metadata.managedFields`. No I/O.

The times in managedFields have a resolution of one second. So the newest entry is not always the entry of the
last writer. If a manager only removes fields of other managers, managedFields has no entry of this manager.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from tenancy.base.manifest import Manifest

Path = tuple[str, ...]


def spec_writer(tenant: Manifest, previous: Manifest | None = None) -> Manifest:
    """The managedFields entry of the manager that wrote the Tenant's current spec. Empty if it is unknown.

    `previous` is the Tenant before the last change to the spec. If `previous` is given, the result is the
    entry of the manager that owns the changed fields. Otherwise, the result is the newest entry that owns a
    field of the spec.
    """
    entries = list(_spec_entries(tenant))
    if previous is None:
        newest = max((_time(entry) for entry in entries), default="")
        writers = [entry for entry in entries if _time(entry) == newest]
    else:
        writers = list(_writers(entries, tenant, previous))
    return writers[0] if len({entry["manager"] for entry in writers}) == 1 else {}


def _writers(entries: list[Manifest], tenant: Manifest, previous: Manifest) -> Iterable[Manifest]:
    paths = list(_changed_paths(previous.get("spec"), tenant.get("spec")))
    # No manager owns a removed field, or a default that the API server has set.
    owned = [path for path in paths if any(_owns(entry, path) for entry in entries)]
    times = {_identity(entry): _time(entry) for entry in _spec_entries(previous)}
    if not owned:
        return [entry for entry in entries if times.get(_identity(entry)) != _time(entry)]
    owners = [entry for entry in entries if all(_owns(entry, path) for path in owned)]
    if len(owners) > 1:
        before = list(_spec_entries(previous))
        owners = [entry for entry in owners if entry not in before]
    return owners


def _spec_entries(tenant: Manifest) -> Iterator[Manifest]:
    for entry in tenant["metadata"].get("managedFields") or ():
        if "f:spec" in (entry.get("fieldsV1") or {}):
            yield entry


def _identity(entry: Manifest) -> tuple[str, ...]:
    return entry["manager"], entry.get("operation", ""), entry.get("apiVersion", "")


def _time(entry: Manifest) -> str:
    return str(entry.get("time", ""))


def _changed_paths(before: Any, after: Any, path: Path = ()) -> Iterator[Path]:
    """The paths of the fields that differ between two specs.

    If a list differs, the result contains the path of the list, but no paths of its items.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before.keys() | after.keys():
            yield from _changed_paths(before.get(key), after.get(key), (*path, key))
    elif isinstance(after, dict) and after and before is None:
        for key, value in after.items():
            yield from _changed_paths(None, value, (*path, key))
    elif before != after:
        yield path


def _owns(entry: Manifest, path: Path) -> bool:
    fields = entry["fieldsV1"]["f:spec"]
    for step in path:
        if f"f:{step}" not in fields:
            return False
        fields = fields[f"f:{step}"]
        if not fields:
            break  # The manager owns this field as a whole.
    return True
