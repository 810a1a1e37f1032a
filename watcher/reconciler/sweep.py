"""Deletes objects that have a tenant's labels, but are not part of the tenant's desired state.

Pulumi deletes only objects that are in the stack's state. This module deletes surplus objects that are not in
the state.
"""

from collections.abc import Mapping
from typing import Final

import structlog

from cluster.client import Cluster
from cluster.tenants import left_hosts, needs_work
from cluster.used_hosts import used_hosts
from tenancy.base.kinds import KIND_BY_KEY, NAMESPACE, kind_of
from tenancy.base.manifest import Manifest, ObjectKey, is_deleting
from tenancy.desired import DesiredState
from tenancy.drift import unwanted
from tenancy.reservations import Reservations
from watcher.reconciler.release import release_namespace
from watcher.reconciler.removal.access import remove_access
from watcher.service import TryAgain

log = structlog.get_logger(__name__)

# The time to the next reconcile of a tenant whose objects still use a host that is no longer in the spec.
USED_HOSTS_S: Final = 60.0


def sweep(
    cluster: Cluster,
    claims: Reservations,
    tenant: Manifest,
    desired: DesiredState,
    live: Mapping[ObjectKey, Manifest],
) -> tuple[str, ...]:
    """Delete surplus objects. Returns the hosts that are still in use, but no longer in the spec.

    Surplus objects are the objects in `live` that `desired` does not contain. With `deletionPolicy: Retain`,
    surplus namespaces are released instead of deleted. After the deletion, other tenants can use the
    namespace names and hosts that this tenant no longer needs.

    Before the deletion, removes subjects that are no longer in the spec from RoleBindings, as `apply` does.
    Raises TryAgain if a RoleBinding contained such a subject.
    """
    if remove_access(cluster, tenant, desired, {}):
        # A removed subject can create another RoleBinding until the API server's authorizer notices the
        # removal. So look again until no RoleBinding names a removed subject.
        raise TryAgain
    surplus = unwanted(desired, live)
    if surplus and not _is_current(cluster, tenant):
        # This copy of the Tenant is outdated. The current spec may need the objects.
        return left_hosts(tenant, desired)
    for key, manifest in surplus.items():
        namespace = live.get(ObjectKey(NAMESPACE.kind, "", key.namespace), manifest)
        if is_deleting(manifest) or is_deleting(namespace):
            continue
        if desired.retains and key.kind == NAMESPACE.kind:
            # Also release a namespace that the tenant adopted and removed just before a restart. No status
            # lists such a namespace.
            if claims.may_release(desired.tenant, key.name):
                release_namespace(cluster, manifest)
            continue
        if not claims.may_remove(desired.tenant, key):
            continue
        cluster.delete(KIND_BY_KEY[key.kind], key.name, key.namespace, manifest["metadata"]["uid"])
        log.info("surplus object deleted", tenant=desired.tenant, object=str(key))
    used = used_hosts(cluster, left_hosts(tenant, desired), desired.namespaces)
    claims.release(desired.tenant, keep=desired.namespaces, hosts=(*desired.hostnames, *used))
    return used


def _is_current(cluster: Cluster, tenant: Manifest) -> bool:
    now = cluster.get(kind_of(tenant), tenant["metadata"]["name"])
    return now is not None and not needs_work(tenant, now)
