"""Groups equal changes of objects in several namespaces, so that each change is shown once. No I/O."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tenancy.base.kinds import NAMESPACE
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.changes import ObjectChange


@dataclass(frozen=True)
class ChangeGroup:
    """Changes that differ only in the namespace."""

    # The first change of the group. The other changes have the same operation and the same fields.
    change: ObjectChange
    namespaces: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The kind, the name and the namespace of the object.

        If a namespaced object has several namespaces, the heading contains them instead of the title.
        """
        if len(self.namespaces) < 2:
            return str(self.change.key)
        if self.change.kind == NAMESPACE.kind:
            return f"{self.change.kind} {', '.join(self.namespaces)}"
        return f"{self.change.kind} {self.change.name}"

    @property
    def heading(self) -> str:
        """The list of namespaces. Empty if the title contains the namespaces."""
        if len(self.namespaces) < 2 or self.change.kind == NAMESPACE.kind:
            return ""
        return f"in {len(self.namespaces)} namespaces: {', '.join(self.namespaces)}"


def change_groups(
    changes: Iterable[ObjectChange], created: Mapping[ObjectKey, Manifest] | None = None
) -> list[ChangeGroup]:
    """The changes in groups. Groups without a heading come first. Groups with the same heading are adjacent.

    `created` contains the manifests of created objects. Created objects are in one group only if their
    manifests are equal, apart from the namespace.
    """
    groups: dict[str, ChangeGroup] = {}
    for change in changes:
        content = _content(change, (created or {}).get(change.key))
        group = groups.setdefault(content, ChangeGroup(change))
        group.namespaces.append(change.namespace or change.name)
    headings = list(dict.fromkeys(["", *(group.heading for group in groups.values())]))
    return sorted(groups.values(), key=lambda group: headings.index(group.heading))


def without_namespace(manifest: Manifest) -> Manifest:
    """The manifest of a namespaced object without its namespace."""
    metadata = {name: value for name, value in manifest["metadata"].items() if name != "namespace"}
    return {**manifest, "metadata": metadata}


def _content(change: ObjectChange, created: Manifest | None) -> str:
    """The part of a change that is equal for all changes in a group."""
    name = "" if change.kind == NAMESPACE.kind else change.name
    fields = [(field.path, field.before, field.after) for field in change.fields]
    manifest = without_namespace(created) if created else None
    return json.dumps([change.operation, change.kind, name, fields, manifest], sort_keys=True)
