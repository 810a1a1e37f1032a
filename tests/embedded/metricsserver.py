"""Runs a real metrics-server, and registers it as the metrics API of a control plane.

metrics-server reads the usage of pods from KWOK, which serves the same metrics as a kubelet. The API server
connects to metrics-server through an ExternalName Service with the name `localhost`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cluster.client import Cluster
from embedded.controlplane.components import CERTIFICATE, KEY
from embedded.controlplane.loopback import HOST, is_ok
from embedded.controlplane.plane import ControlPlane
from tenancy.base.kinds import RBAC_GROUP, SERVICE, Kind
from tenancy.base.manifest import Manifest
from tests.serving import serving
from tests.waiting import eventually

GROUP, VERSION = "metrics.k8s.io", "v1beta1"
API_SERVICE = Kind("apiregistration.k8s.io/v1", "APIService", "apiservices", is_namespaced=False)
API_SERVICE_NAME = f"{VERSION}.{GROUP}"
_NAME, _NAMESPACE = "metrics-server", "kube-system"
# The shortest interval that metrics-server accepts. After three intervals, the usage of a pod is available.
_RESOLUTION_S = 10


@contextmanager
def running_metrics_server(binary: Path, plane: ControlPlane, folder: Path) -> Iterator[None]:
    """Run metrics-server, and register its API in the cluster. On exit, undo both."""
    admin = Cluster.connect(plane.kubeconfig)

    def argv(ports: list[int]) -> list[str | Path]:
        return [binary, *_flags(plane, ports[0])]

    def is_live(ports: list[int]) -> bool:
        return is_ok(ports[0], "/livez", ca=plane.ca)

    with serving("metrics-server", argv, is_live, folder) as running:
        for manifest in _rbac_manifests():
            admin.apply(manifest)
        admin.create(SERVICE, _service())
        admin.create(API_SERVICE, _api_service(running.ports[0]))
        eventually(lambda: _is_available(admin), f"the metrics API is served; see the logs in {folder}")
        yield
        admin.delete(API_SERVICE, API_SERVICE_NAME)
        admin.delete(SERVICE, _NAME, _NAMESPACE)


def _flags(plane: ControlPlane, port: int) -> list[str]:
    return [
        *(f"--{which}kubeconfig={plane.kubeconfig}" for which in ("", "authentication-", "authorization-")),
        # The API server sends no client certificate, so metrics-server does not need to look up its CA.
        "--authentication-skip-lookup",
        f"--bind-address={HOST}",
        f"--secure-port={port}",
        f"--tls-cert-file={plane.data / CERTIFICATE}",
        f"--tls-private-key-file={plane.data / KEY}",
        f"--kubelet-certificate-authority={plane.ca}",
        "--kubelet-use-node-status-port",
        "--kubelet-preferred-address-types=InternalIP",
        f"--kubelet-request-timeout={_RESOLUTION_S // 2}s",
        f"--metric-resolution={_RESOLUTION_S}s",
    ]


def _rbac_manifests() -> list[Manifest]:
    """RBAC rules that let anonymous users read metrics.

    The API server authorizes each request, and then forwards the request to metrics-server without a user
    name.
    """
    api_version = f"{RBAC_GROUP}/v1"
    anonymous = {"apiGroup": RBAC_GROUP, "kind": "User", "name": "system:anonymous"}
    metrics = {"apiGroups": [GROUP], "resources": ["pods", "nodes"], "verbs": ["get", "list"]}
    discovery = {"nonResourceURLs": ["/apis", "/apis/*", "/openapi/*"], "verbs": ["get"]}
    return [
        {
            "apiVersion": api_version,
            "kind": "ClusterRole",
            "metadata": {"name": _NAME},
            "rules": [metrics, discovery],
        },
        {
            "apiVersion": api_version,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": _NAME},
            "roleRef": {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": _NAME},
            "subjects": [anonymous],
        },
    ]


def _service() -> Manifest:
    metadata = {"name": _NAME, "namespace": _NAMESPACE}
    return {"metadata": metadata, "spec": {"type": "ExternalName", "externalName": "localhost"}}


def _api_service(port: int) -> Manifest:
    return {
        "metadata": {"name": API_SERVICE_NAME},
        "spec": {
            "group": GROUP,
            "version": VERSION,
            "service": {"name": _NAME, "namespace": _NAMESPACE, "port": port},
            # The certificate of metrics-server contains an IP address, but the API server would check the
            # Service's name.
            "insecureSkipTLSVerify": True,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
        },
    }


def _is_available(admin: Cluster) -> bool:
    api_service = admin.get(API_SERVICE, API_SERVICE_NAME) or {}
    conditions = api_service.get("status", {}).get("conditions", [])
    return any(entry["type"] == "Available" and entry["status"] == "True" for entry in conditions)
