"""Who the tests act as, by impersonation, and what they try: as dry runs where nothing is to stay."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.client import Cluster, ClusterError
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
DEPLOYMENT = Kind("apps/v1", "Deployment", "deployments")
REPLICA_SET = Kind("apps/v1", "ReplicaSet", "replicasets")
JOB = Kind("batch/v1", "Job", "jobs")


@dataclass(frozen=True)
class Attempt:
    """One request that a person may or may not be allowed."""

    method: str
    path: str
    body: Manifest | None = None
    content_type: str = "application/json"

    @property
    def undone(self) -> "Attempt":
        """The deletion of what this creates."""
        assert self.body is not None
        return Attempt("DELETE", f"{self.path}/{self.body['metadata']['name']}")


def create(kind: Kind, name: str, namespace: str = NAMESPACE, **body: Any) -> Attempt:
    """`labels` and `annotations` go into the metadata."""
    metadata: Manifest = {"name": name}
    if kind.is_namespaced:
        metadata["namespace"] = namespace
    metadata |= {key: body.pop(key) for key in ("labels", "annotations") if key in body}
    manifest = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
    return Attempt("POST", kind.path(namespace), {**manifest, **body})


def change(
    kind: Kind, name: str, body: Manifest, namespace: str = NAMESPACE, subresource: str = ""
) -> Attempt:
    """Merged in as kubectl does it: what lists hold is known by its name."""
    path = kind.path(namespace, name, subresource)
    return Attempt("PATCH", path, body, "application/strategic-merge-patch+json")


def delete(kind: Kind, name: str, namespace: str = NAMESPACE) -> Attempt:
    return Attempt("DELETE", kind.path(namespace, name))


class Person(Cluster):
    """The API server as somebody else meets it."""

    @classmethod
    def named(cls, kubeconfig: Path, user: str, group: str = "") -> "Person":
        person = cls.connect(kubeconfig)
        assert isinstance(person, cls)
        person._api.set_default_header("Impersonate-User", user)
        if group:
            person._api.set_default_header("Impersonate-Group", group)
        return person

    def refusal(self, attempt: Attempt, *, is_dry_run: bool = True) -> str:
        """Why the request is refused; empty where it is not."""
        query = {"dryRun": "All"} if is_dry_run else {}
        try:
            self._request(attempt.method, attempt.path, query, attempt.body, attempt.content_type)
        except ClusterError as error:
            if not error.is_refusal:
                raise
            return str(error)
        return ""

    def do(self, attempt: Attempt) -> None:
        assert self.refusal(attempt, is_dry_run=False) == ""


def denied_by(policy: str) -> str:
    """How a refusal names the policy it comes from."""
    return f"ValidatingAdmissionPolicy 'tenancy-{policy}'"


def claim_spec(**spec: Any) -> Manifest:
    return {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}


def container(image: str = "registry.example/app:1", pull: str = "Always", name: str = "main") -> Manifest:
    return {"name": name, "image": image, "imagePullPolicy": pull}


def pod_spec(**spec: Any) -> Manifest:
    """A pod as the tenant may have it, with these fields instead."""
    return {"containers": [container()], "nodeSelector": {"pool": "tenants"}, **spec}
