"""Reads and writes the Lease of the watchers.

A write fails with status 409 if another process has written the Lease since this process read it.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from cluster.client import Cluster
from tenancy.base.kinds import LEASE
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import SYSTEM_NAMESPACE, WATCHER


def read_lease(cluster: Cluster) -> Manifest | None:
    return cluster.get(LEASE, WATCHER, SYSTEM_NAMESPACE)


def write_lease(
    cluster: Cluster,
    lease: Manifest | None,
    spec: Mapping[str, Any],
    annotations: Mapping[str, str] | None = None,
) -> Manifest:
    """Change these fields and annotations of the Lease, and return the new Lease.

    `lease` is the Lease as it was last read. If it is None, the Lease is created.
    """
    metadata: Manifest = {"annotations": dict(annotations or {})}
    if lease is None:
        metadata |= {"name": WATCHER, "namespace": SYSTEM_NAMESPACE}
        manifest = {"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": metadata, "spec": spec}
        return cluster.create(LEASE, manifest)
    metadata["resourceVersion"] = lease["metadata"]["resourceVersion"]
    change = {"metadata": metadata, "spec": dict(spec)}
    return cluster.patch(LEASE, WATCHER, change, namespace=SYSTEM_NAMESPACE)


def now_text() -> str:
    """The current time as in the fields of a Lease."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
