"""Previews the deletion of live tenants, for `tenancy delete`."""

from collections.abc import Mapping, Sequence

from cli.connection import Connection
from cli.preview.comparison_base import Base, is_protected
from cli.preview.deleted_tenant import deleted_tenant_preview
from cli.preview.result import Preview, TenantPreview
from cli.rights.reader import Reader
from cluster.tenants import known_namespaces
from tenancy.base.kinds import NAMESPACE
from tenancy.base.manifest import Manifest, ObjectKey, Objects, object_key
from tenancy.same_name_in_both_groups import has_finalizer

_BASE = "the cluster as it is"


def deletion_preview(connection: Connection, tenants: Sequence[Manifest]) -> Preview:
    """Preview which objects the watcher deletes with the tenants.

    For a protected tenant, the preview contains an error, and no objects. If the user cannot list a kind, the
    preview lacks the objects of this kind, and a note says so. If the user cannot list Namespaces, the
    preview shows the namespaces in the status of the Tenants.
    """
    reader = Reader(connection)
    objects = reader.objects_by_tenant()
    unreadable = reader.unreadable
    previews = [_preview(tenant, objects, unreadable) for tenant in tenants]
    names = ", ".join(sorted(unreadable))
    note = f"objects of these kinds are deleted too, but not shown, because you cannot list them: {names}"
    return Preview(base=_BASE, tenants=tuple(previews), notes=(note,) if unreadable else ())


def _preview(tenant: Manifest, objects: Mapping[str, Objects], unreadable: frozenset[str]) -> TenantPreview:
    name = tenant["metadata"]["name"]
    # A Tenant without the finalizer has no objects. Objects with its name belong to the Tenant with the same
    # name in the other API group.
    own_objects = objects.get(name, {}) if has_finalizer(tenant) else {}
    if NAMESPACE.key in unreadable:
        own_objects = {**own_objects, **dict(map(_namespace, known_namespaces(tenant)))}
    protected = frozenset({name}) if is_protected(tenant) else frozenset[str]()
    base = Base(_BASE, tenants={name: tenant}, objects={name: own_objects}, protected=protected)
    return deleted_tenant_preview(base, name)


def _namespace(name: str) -> tuple[ObjectKey, Manifest]:
    manifest = {"apiVersion": NAMESPACE.api_version, "kind": NAMESPACE.kind, "metadata": {"name": name}}
    return object_key(manifest), manifest
