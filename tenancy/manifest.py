"""A Kubernetes object as plain data, and the key by which desired and live ones are matched."""

from typing import Any, NamedTuple

from tenancy.names import object_labels

Manifest = dict[str, Any]


class ObjectKey(NamedTuple):
    """Which object: unique among the kinds a tenant is made of."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


def object_key(manifest: Manifest) -> ObjectKey:
    metadata = manifest["metadata"]
    return ObjectKey(manifest["kind"], metadata.get("namespace", ""), metadata["name"])


def namespaced(api_version: str, kind: str, tenant: str, namespace: str, name: str, **body: Any) -> Manifest:
    """An object of a tenant inside one of its namespaces, with the labels that mark it as ours."""
    metadata = {"name": name, "namespace": namespace, "labels": object_labels(tenant)}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}
