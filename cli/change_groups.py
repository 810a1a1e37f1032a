"""Groups changes that are equal in several namespaces, so that the output shows each change once. No I/O."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tenancy.base.kinds import NAMESPACE
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.changes import ObjectChange


@dataclass(frozen=True)
class ChangeGroup:
    """Changes that differ only in the namespace, such as the same new Role in three namespaces."""

    # The first change of the group. The other changes have the same operation and the same fields.
    change: ObjectChange
    namespaces: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The kind, the namespace and the name of the changed object, such as `Role tenant-a/viewer`.

        If the group has several namespaces, the title contains only the kind and the name. The property
        `heading` then lists the namespaces. If the changed objects are Namespaces, the title lists their
        names.
        """
        if len(self.namespaces) < 2:
            return str(self.change.key)
        if self.change.kind == NAMESPACE.kind:
            return f"{self.change.kind} {', '.join(self.namespaces)}"
        return f"{self.change.kind} {self.change.name}"

    @property
    def heading(self) -> str:
        """A text with the namespaces of the group, such as `in 2 namespaces: tenant-a, tenant-b`.

        Empty if the title already contains the namespaces.
        """
        if len(self.namespaces) < 2 or self.change.kind == NAMESPACE.kind:
            return ""
        return f"in {len(self.namespaces)} namespaces: {', '.join(self.namespaces)}"


def change_groups(
    changes: Iterable[ObjectChange], created: Mapping[ObjectKey, Manifest] | None = None
) -> list[ChangeGroup]:
    """Group the changes. Groups without a heading come first. Groups with the same heading are adjacent.

    `created` contains the manifests of created objects. Two created objects are in the same group only if
    their manifests are equal, apart from the namespace.
    """
    groups: dict[str, ChangeGroup] = {}
    for change in changes:
        content = _content(change, (created or {}).get(change.key))
        group = groups.setdefault(content, ChangeGroup(change))
        group.namespaces.append(change.namespace or change.name)
    headings = list(dict.fromkeys(["", *(group.heading for group in groups.values())]))
    return sorted(groups.values(), key=lambda group: headings.index(group.heading))


def without_namespace(manifest: Manifest) -> Manifest:
    """A copy of the manifest without `metadata.namespace`."""
    metadata = {name: value for name, value in manifest["metadata"].items() if name != "namespace"}
    return {**manifest, "metadata": metadata}


def _content(change: ObjectChange, created: Manifest | None) -> str:
    """A text with all data of the change, except the namespace. All changes in a group have the same text."""
    name = "" if change.kind == NAMESPACE.kind else change.name
    fields = [(field.path, field.before, field.after) for field in change.fields]
    manifest = without_namespace(created) if created else None
    return json.dumps([change.operation, change.kind, name, fields, manifest], sort_keys=True)
