"""Deleting what is labelled as a tenant's but not wanted, such as a create that nobody recorded."""

from collections.abc import Mapping

import structlog

from cluster.client import Cluster
from cluster.live_objects import is_ending
from cluster.tenants import needs_work
from tenancy.base.kinds import KIND_BY_KEY, NAMESPACE, kind_of
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.desired import DesiredState
from tenancy.drift import unwanted
from watcher.reconciler.claims import Claims
from watcher.reconciler.release import release_namespace

log = structlog.get_logger(__name__)


def sweep(
    cluster: Cluster,
    claims: Claims,
    tenant: Manifest,
    desired: DesiredState,
    live: Mapping[ObjectKey, Manifest],
) -> None:
    surplus = unwanted(desired, live)
    if surplus and not _is_current(cluster, tenant):
        return  # Our copy of the spec lags behind; what it does not name may be wanted by now.
    for key, manifest in surplus.items():
        home = live.get(ObjectKey(NAMESPACE.kind, "", key.namespace), manifest)
        if is_ending(manifest) or is_ending(home):
            continue
        if desired.retains and key.kind == NAMESPACE.kind:
            # Also one that was adopted and dropped just before a restart, of which no status tells any more.
            if claims.may_release(desired.tenant, key.name):
                release_namespace(cluster, manifest)
            continue
        if not claims.may_remove(desired.tenant, key):
            continue
        cluster.delete(KIND_BY_KEY[key.kind], key.name, key.namespace, manifest["metadata"]["uid"])
        log.info("removed what is not wanted", tenant=desired.tenant, object=str(key))
    claims.release(desired.tenant, keep=desired.namespaces, hosts=desired.hostnames)


def _is_current(cluster: Cluster, tenant: Manifest) -> bool:
    now = cluster.get(kind_of(tenant), tenant["metadata"]["name"])
    return now is not None and not needs_work(tenant, now)
