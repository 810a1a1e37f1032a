"""Kubernetes objects as dicts, and their keys. The desired object and the live object have the same key."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tenancy.base.labels import object_labels

Manifest = dict[str, Any]

# A kind is unambiguous without its API group if the group or the kind is listed here. The key of any other
# kind contains the group. For example, several projects define a Gateway.
_UNAMBIGUOUS_GROUPS: Final = ("", "apps", "batch", "policy", "rbac.authorization.k8s.io", "networking.k8s.io")
_UNAMBIGUOUS_KINDS: Final = ("Tenant", "CustomResourceDefinition")


class ObjectKey(NamedTuple):
    """The identity of an object in the cluster. `namespace` is empty for a cluster-scoped object."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


# Objects of one tenant, by key.
Objects = Mapping[ObjectKey, Manifest]


def kind_key(api_version: str, kind: str) -> str:
    """The kind, followed by its API group if the kind alone is ambiguous."""
    group = api_version.rpartition("/")[0]
    is_unambiguous = group in _UNAMBIGUOUS_GROUPS or kind in _UNAMBIGUOUS_KINDS
    return kind if is_unambiguous else f"{kind}.{group}"


def object_key(manifest: Manifest) -> ObjectKey:
    metadata = manifest["metadata"]
    kind = kind_key(manifest["apiVersion"], manifest["kind"])
    return ObjectKey(kind, metadata.get("namespace", ""), metadata["name"])


def namespaced_manifest(
    api_version: str, kind: str, tenant_name: str, namespace: str, name: str, **body: Any
) -> Manifest:
    """An object in one of the tenant's namespaces, with the labels of managed objects."""
    metadata = {"name": name, "namespace": namespace, "labels": object_labels(tenant_name)}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}


def is_deleting(manifest: Manifest | None) -> bool:
    """Whether an object exists and is being deleted."""
    return manifest is not None and "deletionTimestamp" in manifest.get("metadata", {})
