"""Letting go of namespaces that stay: all that is ours leaves them, all else is not touched.

Called where `deletionPolicy` is `Retain`: for a whole tenant at its end, or for a namespace that it no
longer has.
"""

from collections.abc import Iterable

import structlog

from cluster.client import Cluster
from tenancy.base.kinds import NAMESPACE, Kind
from tenancy.base.manifest import Manifest, object_key
from tenancy.base.names import tenant_selector
from tenancy.objects.namespace import release_patch
from watcher.reconciler.claims import Claims

log = structlog.get_logger(__name__)


def remove_objects(cluster: Cluster, claims: Claims, tenant: str, kinds: Iterable[Kind]) -> None:
    """Deletes the tenant's managed objects of these kinds, but no namespace."""
    for kind in kinds:
        if kind == NAMESPACE:
            continue
        for found in cluster.list(kind, tenant_selector(tenant))[0]:
            key = object_key(found)
            if claims.may_remove(tenant, key):
                cluster.delete(kind, key.name, key.namespace, found["metadata"]["uid"])


def release_namespace(cluster: Cluster, namespace: Manifest) -> None:
    """Takes our labels and annotations off."""
    name = namespace["metadata"]["name"]
    if patch := release_patch(namespace):
        cluster.patch(NAMESPACE, name, patch)
        log.info("namespace released", namespace=name)
