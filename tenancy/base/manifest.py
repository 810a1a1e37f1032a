"""A Kubernetes object as plain data, and the key by which desired and live ones are matched."""

from typing import Any, Final, NamedTuple

from tenancy.base.names import object_labels

Manifest = dict[str, Any]

# Groups in which a kind's name alone says what it is; elsewhere two projects may use the same one.
_PLAIN_GROUPS: Final = ("", "apps", "batch", "policy", "rbac.authorization.k8s.io", "networking.k8s.io")
_PLAIN_KINDS: Final = ("Tenant", "CustomResourceDefinition")


class ObjectKey(NamedTuple):
    """Which object: unique among the kinds a tenant is made of."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


def kind_key(api_version: str, kind: str) -> str:
    group = api_version.rpartition("/")[0]
    return kind if group in _PLAIN_GROUPS or kind in _PLAIN_KINDS else f"{kind}.{group}"


def object_key(manifest: Manifest) -> ObjectKey:
    metadata = manifest["metadata"]
    kind = kind_key(manifest["apiVersion"], manifest["kind"])
    return ObjectKey(kind, metadata.get("namespace", ""), metadata["name"])


def namespaced(api_version: str, kind: str, tenant: str, namespace: str, name: str, **body: Any) -> Manifest:
    """An object of a tenant inside one of its namespaces, with the labels that mark it as ours."""
    metadata = {"name": name, "namespace": namespace, "labels": object_labels(tenant)}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}
