"""Deletes objects that have a tenant's labels but are not desired.

Pulumi deletes only objects that are in the stack's state. This module deletes objects that the state does not
contain.
"""

from collections.abc import Mapping

import structlog

from cluster.client import Cluster
from cluster.tenants import needs_work
from tenancy.base.kinds import KIND_BY_KEY, NAMESPACE, kind_of
from tenancy.base.manifest import Manifest, ObjectKey, is_deleting
from tenancy.desired import DesiredState
from tenancy.drift import unwanted
from tenancy.reservations import Reservations
from watcher.reconciler.release import release_namespace

log = structlog.get_logger(__name__)


def sweep(
    cluster: Cluster,
    claims: Reservations,
    tenant: Manifest,
    desired: DesiredState,
    live: Mapping[ObjectKey, Manifest],
) -> None:
    """Delete objects that are not desired.

    With `deletionPolicy: Retain`, namespaces are released instead of deleted. At the end, remove the tenant's
    reservations of namespaces and hosts that the tenant no longer needs.
    """
    surplus = unwanted(desired, live)
    if surplus and not _is_current(cluster, tenant):
        return  # This copy of the Tenant is outdated. The current spec may need the objects.
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
    claims.release(desired.tenant, keep=desired.namespaces, hosts=desired.hostnames)


def _is_current(cluster: Cluster, tenant: Manifest) -> bool:
    now = cluster.get(kind_of(tenant), tenant["metadata"]["name"])
    return now is not None and not needs_work(tenant, now)
