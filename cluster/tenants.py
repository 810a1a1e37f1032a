"""The Tenant objects. Two API groups define the kind Tenant.

A tenant is identified by its name. If both API groups have a Tenant with the same name, the older object is
used, and the newer object is rejected.
"""

from typing import TYPE_CHECKING

from cluster.client import Cluster
from cluster.informer import Informer, OnChange
from cluster.live_objects import tenant_of
from cluster.written_objects import WrittenObjects
from tenancy.base.kinds import NAMESPACE, RESOURCE_QUOTA, TENANTS, kind_of
from tenancy.base.labels import MANAGED_SELECTOR, tenant_selector
from tenancy.base.manifest import Manifest, ObjectKey, is_deleting, object_key
from tenancy.base.names import FINALIZER
from tenancy.changes import Cause, ObjectChange, UpdateRecord
from tenancy.history.spec_changes import changes_in, unrecorded_changes
from tenancy.history.spec_writer import spec_writer
from tenancy.same_name_in_both_groups import has_finalizer, precedence

if TYPE_CHECKING:
    from tenancy.desired import DesiredState


def known_namespaces(tenant: Manifest) -> list[str]:
    """The namespaces in the status of the Tenant."""
    return _names(tenant, "namespaceStatus")


def known_hosts(tenant: Manifest) -> list[str]:
    """The hosts in the status of the Tenant."""
    return _names(tenant, "hostnames")


def _names(tenant: Manifest, field: str) -> list[str]:
    # An older CRD may have accepted values of other types.
    return [name for name in (tenant.get("status") or {}).get(field) or () if isinstance(name, str)]


def left_hosts(tenant: Manifest, desired: "DesiredState") -> tuple[str, ...]:
    """The hosts that the Tenant's status lists, but that the desired state does not contain."""
    return tuple(host for host in known_hosts(tenant) if host not in desired.hostnames)


def needs_work(before: Manifest | None, after: Manifest) -> bool:
    """Whether the change from `before` to `after` requires a reconcile.

    A reconcile is required if the Tenant is new, if its spec has changed, or if its deletion has started.
    Changes to the status require no reconcile.
    """
    return before is None or any(
        before["metadata"].get(field) != after["metadata"].get(field)
        for field in ("uid", "generation", "deletionTimestamp")
    )


def has_lost_finalizer(before: Manifest | None, after: Manifest) -> bool:
    return before is not None and has_finalizer(before) and not has_finalizer(after)


def update_record(tenant: Manifest, cause: Cause, changes: tuple[ObjectChange, ...]) -> UpdateRecord:
    """Create the record of an update that makes these changes to the tenant's objects.

    The record is stored in the history of the tenant's stack.
    """
    status, generation = tenant.get("status"), tenant["metadata"]["generation"]
    managers = [change.manager for change in changes_in(status) if change.generation == generation]
    return UpdateRecord(
        cause_type=cause,
        generation=generation,
        written_by=managers[0] if managers else spec_writer(tenant).get("manager", ""),
        spec=tenant.get("spec") or {},
        changes=changes,
        spec_changes=unrecorded_changes(status),
    )


def read_tenant(cluster: Cluster, name: str) -> Manifest | None:
    """Read the Tenant with this name from the API server. None if there is no such Tenant."""
    manifests = [manifest for kind in TENANTS if (manifest := cluster.get(kind, name))]
    return min(manifests, key=precedence, default=None)


def live_namespaces(cluster: Cluster, tenant: Manifest) -> dict[str, Manifest]:
    """The tenant's live namespaces, by name.

    These are all namespaces with the tenant's label. A namespace in the tenant's status is included too,
    unless it has the label of another tenant.
    """
    tenant_name = tenant["metadata"]["name"]
    labelled, _ = cluster.list(NAMESPACE, tenant_selector(tenant_name))
    namespaces = {namespace["metadata"]["name"]: namespace for namespace in labelled}
    for name in known_namespaces(tenant):
        if name not in namespaces and (namespace := cluster.get(NAMESPACE, name)):
            namespaces[name] = namespace
    return {
        name: namespace for name, namespace in namespaces.items() if tenant_of(namespace) in ("", tenant_name)
    }


def leaving_namespaces(cluster: Cluster, tenant: Manifest, desired: "DesiredState") -> list[Manifest]:
    """The tenant's live namespaces that the desired state does not contain.

    Namespaces that are already being deleted are omitted.
    """
    return [
        namespace
        for name, namespace in live_namespaces(cluster, tenant).items()
        if name not in desired.namespaces and not is_deleting(namespace)
    ]


def live_quotas(cluster: Cluster, tenant: str) -> dict[ObjectKey, Manifest]:
    """The tenant's managed ResourceQuotas, by key.

    They are read from the API server, because the copies of the informers may be outdated.
    """
    quotas, _ = cluster.list(RESOURCE_QUOTA, tenant_selector(tenant))
    return {object_key(quota): quota for quota in quotas}


def read_quotas(cluster: Cluster) -> list[Manifest]:
    """The managed ResourceQuotas of all tenants, read from the API server."""
    return cluster.list(RESOURCE_QUOTA, MANAGED_SELECTOR)[0]


def read_tenants(cluster: Cluster, selector: str = "") -> list[Manifest]:
    """All Tenants that match the label selector, read from the API server."""
    return [tenant for kind in TENANTS for tenant in cluster.list(kind, selector)[0]]


class Tenants:
    """The watcher's copy of all Tenants.

    The copy includes changes by the watcher itself, even if the informers have not received them yet.
    """

    def __init__(self, cluster: Cluster, on_change: OnChange) -> None:
        self.informers = tuple(Informer(cluster, kind, on_change) for kind in TENANTS)
        self._cluster = cluster
        self._written = WrittenObjects()

    def named(self, name: str) -> list[Manifest]:
        """The Tenants with this name, at most one per API group. The watcher applies only the first one."""
        key = ObjectKey("Tenant", "", name)
        manifests = [
            self._written.newest(tenant) for informer in self.informers if (tenant := informer.get(key))
        ]
        return sorted(manifests, key=precedence)

    def names(self) -> set[str]:
        return {key.name for informer in self.informers for key in informer.object_keys()}

    def add_finalizer(self, tenant: Manifest) -> Manifest:
        return self._set_finalizers(tenant, [*tenant["metadata"].get("finalizers", []), FINALIZER])

    def remove_finalizer(self, tenant: Manifest) -> None:
        others = [name for name in tenant["metadata"].get("finalizers", []) if name != FINALIZER]
        self._set_finalizers(tenant, others)
        self._written.forget(tenant)

    def write_status(self, tenant: Manifest, status: Manifest) -> Manifest:
        """Replace the status, and return the updated Tenant. If the status is unchanged, write nothing."""
        if tenant.get("status") == status:
            return tenant
        # With the first operation, the API server rejects the patch if the Tenant was deleted and created
        # again in the meantime.
        change = [
            {"op": "test", "path": "/metadata/uid", "value": tenant["metadata"]["uid"]},
            {"op": "add", "path": "/status", "value": status},
        ]
        name = tenant["metadata"]["name"]
        return self._written.put(self._cluster.patch(kind_of(tenant), name, change, subresource="status"))

    def forget(self, tenant: Manifest) -> None:
        """Discard the last written version of a Tenant. Call this method after the Tenant is deleted."""
        self._written.forget(tenant)

    def _set_finalizers(self, tenant: Manifest, finalizers: list[str]) -> Manifest:
        # Because of the resource version, the API server rejects the patch if the Tenant has changed in the
        # meantime. Otherwise, the patch could remove a finalizer that another client has added.
        version = tenant["metadata"]["resourceVersion"]
        change = {"metadata": {"finalizers": finalizers, "resourceVersion": version}}
        return self._written.put(self._cluster.patch(kind_of(tenant), tenant["metadata"]["name"], change))
