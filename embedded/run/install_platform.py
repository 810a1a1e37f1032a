"""Installs the platform's objects in a cluster, and writes a kubeconfig for the watcher.

The kubeconfig contains a token of the watcher's ServiceAccount. With this token, the watcher has the
permissions of the ServiceAccount, not those of an administrator.
"""

import time
from pathlib import Path

import yaml

from cluster.client import Cluster
from cluster.served_kinds import is_established, served_mutating_policies
from embedded.controlplane.kubeconfig import write_kubeconfig
from embedded.errors import SetupFailed
from tenancy.base.kinds import CRD, Kind
from tenancy.base.platform_names import SYSTEM_NAMESPACE, WATCHER
from tenancy.platform.manifests import platform_manifests

ESTABLISHED_TIMEOUT_S = 30.0
POLL_S = 0.05
TOKEN_LIFETIME_S = 365 * 86400
TOKEN_REQUEST = Kind("v1", "TokenRequest", f"serviceaccounts/{WATCHER}/token")


def install_platform(cluster: Cluster) -> None:
    """Apply the platform's manifests, and wait until the API server serves the platform's CRDs."""
    manifests = platform_manifests(served=served_mutating_policies(cluster))
    for manifest in manifests:
        cluster.apply(manifest)
    for manifest in manifests:
        if manifest["kind"] == CRD.kind:
            _await_established(cluster, manifest["metadata"]["name"])


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
