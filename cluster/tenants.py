"""The Tenant objects of both API groups, under one name each.

A tenant's identity is its name. Where both groups have it, the older object is the tenant;
the younger one is told so and otherwise left alone.
"""

from cluster.client import Cluster
from cluster.informer import Informer, OnChange
from cluster.live_objects import tenant_of
from tenancy.base.kinds import NAMESPACE, RESOURCE_QUOTA, TENANTS, kind_of
from tenancy.base.manifest import Manifest, ObjectKey, object_key
from tenancy.base.names import FINALIZER, tenant_selector
from tenancy.changes import ObjectChange, UpdateRecord


def is_deleting(tenant: Manifest) -> bool:
    return "deletionTimestamp" in tenant["metadata"]


def has_finalizer(tenant: Manifest) -> bool:
    return FINALIZER in tenant["metadata"].get("finalizers", [])


def known_namespaces(tenant: Manifest) -> list[str]:
    """The namespaces that the tenant's own status says are its."""
    return list((tenant.get("status") or {}).get("namespaceStatus") or ())


def known_hosts(tenant: Manifest) -> list[str]:
    return list((tenant.get("status") or {}).get("hostnames") or ())


def needs_work(before: Manifest | None, after: Manifest) -> bool:
    """Whether a Tenant asks for something new: by a spec, or by its deletion."""
    return before is None or any(
        before["metadata"].get(field) != after["metadata"].get(field)
        for field in ("uid", "generation", "deletionTimestamp")
    )


def has_lost_finalizer(before: Manifest | None, after: Manifest) -> bool:
    return before is not None and has_finalizer(before) and not has_finalizer(after)


def update_record(tenant: Manifest, changes: tuple[ObjectChange, ...]) -> UpdateRecord:
    """What is kept in the stack's history with an update that makes these changes."""
    metadata = tenant["metadata"]
    writers = [
        entry for entry in metadata.get("managedFields", ()) if "f:spec" in (entry.get("fieldsV1") or {})
    ]
    newest: Manifest = max(writers, key=lambda entry: str(entry.get("time", "")), default={})
    return UpdateRecord(
        generation=metadata["generation"],
        written_by=newest.get("manager", ""),
        spec=tenant["spec"],
        changes=changes,
    )


def read_tenant(cluster: Cluster, name: str) -> Manifest | None:
    """The tenant of this name, straight from the API server."""
    found = [tenant for kind in TENANTS if (tenant := cluster.get(kind, name))]
    return min(found, key=_precedence, default=None)


def live_namespaces(cluster: Cluster, tenant: Manifest) -> dict[str, Manifest]:
    """The tenant's namespaces that are there, by name: those with its label, and those that its status names,
    unless they are another's by now."""
    name = tenant["metadata"]["name"]
    labelled, _ = cluster.list(NAMESPACE, tenant_selector(name))
    found = {namespace["metadata"]["name"]: namespace for namespace in labelled}
    for known in known_namespaces(tenant):
        if known not in found and (namespace := cluster.get(NAMESPACE, known)):
            found[known] = namespace
    return {known: namespace for known, namespace in found.items() if tenant_of(namespace) in ("", name)}


def live_quotas(cluster: Cluster, tenant: str) -> dict[ObjectKey, Manifest]:
    """As they are at this moment: the watcher's own copy may lag behind."""
    found, _ = cluster.list(RESOURCE_QUOTA, tenant_selector(tenant))
    return {object_key(quota): quota for quota in found}


def read_tenants(cluster: Cluster) -> list[Manifest]:
    """All Tenants, straight from the API server."""
    return [tenant for kind in TENANTS for tenant in cluster.list(kind)[0]]


class Tenants:
    """What the watcher knows of the Tenant objects, its own latest writes included."""

    def __init__(self, cluster: Cluster, on_change: OnChange) -> None:
        self.informers = tuple(Informer(cluster, kind, on_change) for kind in TENANTS)
        self._cluster = cluster
        self._written: dict[str, Manifest] = {}

    def named(self, name: str) -> list[Manifest]:
        """All objects of this name, the tenant itself first."""
        key = ObjectKey("Tenant", "", name)
        found = [self._newest(tenant) for informer in self.informers if (tenant := informer.get(key))]
        return sorted(found, key=_precedence)

    def names(self) -> set[str]:
        return {key.name for informer in self.informers for key in informer.object_keys()}

    def add_finalizer(self, tenant: Manifest) -> Manifest:
        return self._set_finalizers(tenant, [*tenant["metadata"].get("finalizers", []), FINALIZER])

    def remove_finalizer(self, tenant: Manifest) -> None:
        others = [name for name in tenant["metadata"].get("finalizers", []) if name != FINALIZER]
        self._set_finalizers(tenant, others)
        self._written.pop(tenant["metadata"]["uid"], None)

    def write_status(self, tenant: Manifest, status: Manifest) -> Manifest:
        """The tenant with this status as a whole. Nothing is written where nothing changes."""
        if tenant.get("status") == status:
            return tenant
        # Only this very object: a namesake made meanwhile is another tenant.
        change = [
            {"op": "test", "path": "/metadata/uid", "value": tenant["metadata"]["uid"]},
            {"op": "add", "path": "/status", "value": status},
        ]
        name = tenant["metadata"]["name"]
        return self._remember(self._cluster.patch(kind_of(tenant), name, change, subresource="status"))

    def forget(self, tenant: Manifest) -> None:
        self._written.pop(tenant["metadata"]["uid"], None)

    def _set_finalizers(self, tenant: Manifest, finalizers: list[str]) -> Manifest:
        # The version makes sure that nobody's finalizer is lost.
        version = tenant["metadata"]["resourceVersion"]
        change = {"metadata": {"finalizers": finalizers, "resourceVersion": version}}
        return self._remember(self._cluster.patch(kind_of(tenant), tenant["metadata"]["name"], change))

    def _remember(self, tenant: Manifest) -> Manifest:
        self._written[tenant["metadata"]["uid"]] = tenant
        return tenant

    def _newest(self, seen: Manifest) -> Manifest:
        """The object as we wrote it last, until the watch has caught up with that."""
        written = self._written.get(seen["metadata"]["uid"])
        if written is not None and _version(written) > _version(seen):
            return written
        return seen


def _version(manifest: Manifest) -> int:
    return int(manifest["metadata"]["resourceVersion"])


def _precedence(tenant: Manifest) -> tuple[str, bool, int]:
    # Creation times have whole seconds: within one, who was built already goes first, then the main group.
    groups = [kind.api_version for kind in TENANTS]
    created = tenant["metadata"]["creationTimestamp"]
    return created, not has_finalizer(tenant), groups.index(tenant["apiVersion"])
