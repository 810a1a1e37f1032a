"""Installs the platform's objects in a cluster, and writes a kubeconfig for the watcher.

The kubeconfig contains a token of the watcher's ServiceAccount. With this token, the watcher has the
permissions of the ServiceAccount, not those of an administrator.
"""

import time
from collections.abc import Sequence
from pathlib import Path

import yaml

from cluster.client import Cluster
from cluster.served_kinds import is_established, served_mutating_policies
from embedded.controlplane.components import CLUSTER_NETWORKS
from embedded.controlplane.kubeconfig import write_kubeconfig
from embedded.errors import SetupFailed
from tenancy.base.kinds import AISESSION, CRD, Kind
from tenancy.base.platform_names import SYSTEM_NAMESPACE, WATCHER
from tenancy.platform.manifests import platform_manifests
from tenancy.platform.settings import PlatformSettings
from tenancy.spec.crd import aisession_crd

ESTABLISHED_TIMEOUT_S = 30.0
POLL_S = 0.05
TOKEN_LIFETIME_S = 365 * 86400
TOKEN_REQUEST = Kind("v1", "TokenRequest", f"serviceaccounts/{WATCHER}/token")


def install_platform(cluster: Cluster, networks: Sequence[str] = CLUSTER_NETWORKS) -> None:
    """Apply the platform's manifests, and wait until the API server serves the platform's CRDs.

    `networks` are the IP networks of the cluster's Services and pods, in CIDR notation. The default contains
    the networks of the embedded control plane.
    """
    settings = PlatformSettings(cluster_networks=tuple(networks))
    manifests = platform_manifests(settings, served_mutating_policies(cluster))
    for manifest in manifests:
        cluster.apply(manifest)
    for manifest in manifests:
        if manifest["kind"] == CRD.kind:
            _await_established(cluster, manifest["metadata"]["name"])


def install_session_crd(kubeconfig: Path) -> None:
    """Install the CRD of AISessions, and wait until the API server serves it.

    Call this function before the controller manager starts. Then quotas count AISessions from the beginning.
    """
    cluster = Cluster.connect(kubeconfig)
    cluster.apply(aisession_crd())
    _await_established(cluster, AISESSION.crd)


def write_watcher_kubeconfig(cluster: Cluster, admin_kubeconfig: Path, path: Path) -> None:
    """Write a copy of the administrator's kubeconfig to `path`.

    In the copy, a token of the watcher's ServiceAccount replaces the administrator's credentials.
    """
    document = yaml.safe_load(admin_kubeconfig.read_text())
    current = document["current-context"]
    context = next(entry["context"] for entry in document["contexts"] if entry["name"] == current)
    document["users"] = [{"name": context["user"], "user": {"token": create_watcher_token(cluster)}}]
    write_kubeconfig(path, document)


def create_watcher_token(cluster: Cluster) -> str:
    """Request a token of the watcher's ServiceAccount. The token is valid for a year."""
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {"name": WATCHER, "namespace": SYSTEM_NAMESPACE},
        "spec": {"expirationSeconds": TOKEN_LIFETIME_S},
    }
    token: str = cluster.create(TOKEN_REQUEST, request)["status"]["token"]
    return token


def _await_established(cluster: Cluster, name: str) -> None:
    deadline = time.monotonic() + ESTABLISHED_TIMEOUT_S
    while not is_established(cluster.get(CRD, name)):
        if time.monotonic() > deadline:
            raise SetupFailed(
                f"The API server does not serve the CRD {name}. To see the reason, run"
                f" `kubectl describe crd {name}`."
            )
        time.sleep(POLL_S)
