"""metrics-server as tests use it: the real one beside the real API server, which serves its API, too.

It reads what the pods use from KWOK, as it would from kubelets. The API server finds it through a Service
that is nothing but a name for this machine.
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
# The shortest it takes. What a pod uses is known after three rounds.
_ROUND_S = 10


@contextmanager
def running_metrics_server(binary: Path, plane: ControlPlane, folder: Path) -> Iterator[None]:
    """While it runs, this cluster serves the metrics API."""
    admin = Cluster.connect(plane.kubeconfig)

    def argv(ports: list[int]) -> list[str | Path]:
        return [binary, *_flags(plane, ports[0])]

    def is_live(ports: list[int]) -> bool:
        return is_ok(ports[0], "/livez", ca=plane.ca)

    with serving("metrics-server", argv, is_live, folder) as running:
        for manifest in _rights():
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
        # The API server has no certificate to prove itself with, so there is none to look up.
        "--authentication-skip-lookup",
        f"--bind-address={HOST}",
        f"--secure-port={port}",
        f"--tls-cert-file={plane.data / CERTIFICATE}",
        f"--tls-private-key-file={plane.data / KEY}",
        f"--kubelet-certificate-authority={plane.ca}",
        "--kubelet-use-node-status-port",
        "--kubelet-preferred-address-types=InternalIP",
        f"--kubelet-request-timeout={_ROUND_S // 2}s",
        f"--metric-resolution={_ROUND_S}s",
    ]


def _rights() -> list[Manifest]:
    """The API server checks who asks, and passes the question on without a name: who has none is let in."""
    api_version = f"{RBAC_GROUP}/v1"
    nobody = {"apiGroup": RBAC_GROUP, "kind": "User", "name": "system:anonymous"}
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
            "subjects": [nobody],
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
            # The certificate is for an address, and the API server would ask for the Service's name.
            "insecureSkipTLSVerify": True,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
        },
    }


def _is_available(admin: Cluster) -> bool:
    found = admin.get(API_SERVICE, API_SERVICE_NAME) or {}
    conditions = found.get("status", {}).get("conditions", [])
    return any(one["type"] == "Available" and one["status"] == "True" for one in conditions)
