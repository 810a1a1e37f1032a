"""Clients that impersonate users, and the requests that these users send.

By default, a request is a dry run.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.client import Cluster
from cluster.connection.impersonation import Impersonation
from cluster.errors import ClusterError
from tenancy.base.kinds import Kind
from tenancy.base.manifest import Manifest

NAMESPACE = "tenant-acme"

POD = Kind("v1", "Pod", "pods")
SECRET = Kind("v1", "Secret", "secrets")
CLAIM = Kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims")
ENDPOINTS = Kind("v1", "Endpoints", "endpoints")
ENDPOINT_SLICE = Kind("discovery.k8s.io/v1", "EndpointSlice", "endpointslices")
INGRESS = Kind("networking.k8s.io/v1", "Ingress", "ingresses")
GATEWAY = Kind("gateway.networking.k8s.io/v1", "Gateway", "gateways")
HTTP_ROUTE = Kind("gateway.networking.k8s.io/v1", "HTTPRoute", "httproutes")
LISTENER_SET = Kind("gateway.networking.k8s.io/v1", "ListenerSet", "listenersets")
TCP_ROUTE = Kind("gateway.networking.k8s.io/v1", "TCPRoute", "tcproutes")
TLS_ROUTE = Kind("gateway.networking.k8s.io/v1", "TLSRoute", "tlsroutes")
UDP_ROUTE = Kind("gateway.networking.k8s.io/v1", "UDPRoute", "udproutes")
DESTINATION_RULE = Kind("networking.istio.io/v1", "DestinationRule", "destinationrules")
SERVICE_ENTRY = Kind("networking.istio.io/v1", "ServiceEntry", "serviceentries")
VIRTUAL_SERVICE = Kind("networking.istio.io/v1", "VirtualService", "virtualservices")
WORKLOAD_ENTRY = Kind("networking.istio.io/v1", "WorkloadEntry", "workloadentries")
# Kinds of other projects. The tests create the CRDs of these kinds.
ROUTE_KINDS = (
    GATEWAY,
    HTTP_ROUTE,
    LISTENER_SET,
    TCP_ROUTE,
    TLS_ROUTE,
    UDP_ROUTE,
    DESTINATION_RULE,
    SERVICE_ENTRY,
    VIRTUAL_SERVICE,
    WORKLOAD_ENTRY,
)
DEPLOYMENT = Kind("apps/v1", "Deployment", "deployments")
REPLICA_SET = Kind("apps/v1", "ReplicaSet", "replicasets")
JOB = Kind("batch/v1", "Job", "jobs")


@dataclass(frozen=True)
class Attempt:
    """One request to the API server."""

    method: str
    path: str
    body: Manifest | None = None
    content_type: str = "application/json"

    @property
    def deletion(self) -> "Attempt":
        """The request that deletes the object of this creation request."""
        assert self.body is not None
        return Attempt("DELETE", f"{self.path}/{self.body['metadata']['name']}")


def create(kind: Kind, name: str, namespace: str = NAMESPACE, **body: Any) -> Attempt:
    """A request that creates an object. `labels` and `annotations` are written to the object's metadata."""
    metadata: Manifest = {"name": name}
    if kind.is_namespaced:
        metadata["namespace"] = namespace
    metadata |= {key: body.pop(key) for key in ("labels", "annotations") if key in body}
    manifest = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
    return Attempt("POST", kind.path(namespace), {**manifest, **body})


def change(
    kind: Kind, name: str, body: Manifest, namespace: str = NAMESPACE, subresource: str = ""
) -> Attempt:
    """A request that changes an object by a strategic merge patch. Such a patch merges lists by key."""
    path = kind.path(namespace, name, subresource)
    return Attempt("PATCH", path, body, "application/strategic-merge-patch+json")


def delete(kind: Kind, name: str, namespace: str = NAMESPACE) -> Attempt:
    return Attempt("DELETE", kind.path(namespace, name))


class Person(Cluster):
    """A client that impersonates a user."""

    user: str

    @classmethod
    def named(cls, kubeconfig: Path, user: str, group: str = "") -> "Person":
        person = cls.connect(kubeconfig, impersonation=Impersonation(user, (group,) if group else ()))
        assert isinstance(person, cls)
        person.user = user
        return person

    def refusal(self, attempt: Attempt, *, is_dry_run: bool = True) -> str:
        """The error message if the API server rejects the request, otherwise an empty string."""
        query = {"dryRun": "All"} if is_dry_run else {}
        try:
            self._transport.request(attempt.method, attempt.path, query, attempt.body, attempt.content_type)
        except ClusterError as error:
            if not error.is_refusal:
                raise
            return str(error)
        return ""

    def do(self, attempt: Attempt) -> None:
        assert self.refusal(attempt, is_dry_run=False) == ""


def denied_by(policy: str) -> str:
    """The part of an error message that names the policy."""
    return f"ValidatingAdmissionPolicy 'tenancy-{policy}'"


def claim_spec(**spec: Any) -> Manifest:
    return {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}


def container(image: str = "registry.example/app:1", pull: str = "Always", name: str = "main") -> Manifest:
    return {"name": name, "image": image, "imagePullPolicy": pull}


def pod_spec(**spec: Any) -> Manifest:
    """A pod spec that the admission policies accept for tenant `acme`. `spec` adds or replaces fields."""
    return {"containers": [container()], "nodeSelector": {"pool": "tenants"}, **spec}
