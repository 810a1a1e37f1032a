"""The identity of a cluster."""

from typing import Final

from cluster.client import Cluster
from cluster.errors import ClusterError
from tenancy.base.kinds import NAMESPACE

# This namespace cannot be deleted, so its UID identifies the cluster.
_NAMESPACE: Final = "kube-system"


def cluster_id(cluster: Cluster) -> str:
    """The UID of the namespace kube-system. Raises ClusterError if the namespace cannot be read."""
    namespace = cluster.get(NAMESPACE, _NAMESPACE)
    if namespace is None:
        raise ClusterError(f"the cluster has no namespace {_NAMESPACE}")
    uid: str = namespace["metadata"]["uid"]
    return uid
