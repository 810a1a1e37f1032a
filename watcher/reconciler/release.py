"""Releases namespaces: removes the platform's objects and labels, and keeps the namespaces in the cluster.

This happens if `deletionPolicy` is `Retain`, and the tenant is deleted or loses a namespace. Everything else
in the namespaces stays unchanged.
"""

from collections.abc import Iterable

import structlog

from cluster.client import Cluster
from tenancy.base.kinds import NAMESPACE, Kind
from tenancy.base.labels import tenant_selector
from tenancy.base.manifest import Manifest, object_key
from tenancy.objects.namespace import release_patch
from tenancy.reservations import Reservations

log = structlog.get_logger(__name__)


def remove_objects(cluster: Cluster, claims: Reservations, tenant: str, kinds: Iterable[Kind]) -> None:
    """Delete the tenant's managed objects of these kinds, except namespaces."""
    for kind in kinds:
        if kind == NAMESPACE:
            continue
        for live_object in cluster.list(kind, tenant_selector(tenant))[0]:
            key = object_key(live_object)
            if claims.may_remove(tenant, key):
                cluster.delete(kind, key.name, key.namespace, live_object["metadata"]["uid"])


def release_namespace(cluster: Cluster, namespace: Manifest) -> None:
    """Remove the platform's labels and annotations from a namespace."""
    name = namespace["metadata"]["name"]
    if patch := release_patch(namespace):
        cluster.patch(NAMESPACE, name, patch)
        log.info("namespace released", namespace=name)
