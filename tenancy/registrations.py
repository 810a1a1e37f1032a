"""The list of a tenant's Pulumi resources. No I/O.

If an operator runs `pulumi up`, a Pulumi program registers these resources with the components in
`component.py`. The watcher usually runs no program. Its warm engine, a process that executes Pulumi
operations, registers the same list.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Final

from tenancy.base.kinds import NAMESPACE, RESOURCE_QUOTA, ROLE_BINDING
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.base.names import FIELD_MANAGER
from tenancy.desired import DesiredState

# The type of the component that contains all objects of a tenant.
TENANT_TYPE: Final = "tenancy:index:Tenant"
NAMESPACE_TYPE: Final = "kubernetes:core/v1:Namespace"

# The version of Pulumi's Kubernetes provider that manages the objects.
PROVIDER_VERSION: Final = version("pulumi-kubernetes")

# Kinds that are created after the other objects of their namespace. After a ResourceQuota is created, the API
# server rejects new objects until the existing objects are counted. RoleBindings are created last, so that
# users get access only when isolation is complete.
_STAGES: Final = {RESOURCE_QUOTA.kind: 1, ROLE_BINDING.kind: 2}

_ANNOTATIONS: Final = {
    # By default, Pulumi generates a field manager and stores it in the state. With a fixed field manager, a
    # stack can still update its objects after its state was lost.
    "pulumi.com/patchFieldManager": FIELD_MANAGER,
    # Overwrite fields that another field manager has changed. Such a change is drift.
    "pulumi.com/patchForce": "true",
}
# With this annotation, Pulumi does not wait until an object is ready or deleted. The watcher itself watches
# namespaces that are being deleted.
NO_AWAIT: Final = {"pulumi.com/skipAwait": "true"}


@dataclass(frozen=True)
class Registration:
    """One Kubernetes object as a Pulumi resource.

    `depends_on` and `deleted_with` are indexes of earlier items in the list that `registrations` returns.
    """

    type: str
    name: str
    inputs: dict[str, Any]
    depends_on: tuple[int, ...] = ()
    deleted_with: int | None = None
    retain_on_delete: bool | None = None


def registrations(desired: DesiredState) -> list[Registration]:
    """The Pulumi resources of all objects. Each resource comes after the resources that it depends on."""
    result: list[Registration] = []
    namespaces: dict[str, int] = {}
    created: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for key, manifest in sorted(desired.by_key.items(), key=lambda item: apply_stage(item[0])):
        index, stage = len(result), apply_stage(key)
        depends_on: tuple[int, ...] = ()
        deleted_with = retain_on_delete = None
        if key.kind == NAMESPACE.kind:
            retain_on_delete = desired.retains
            namespaces[key.name] = index
        elif key.namespace:
            namespace = namespaces[key.namespace]
            before = (other for other_stage, other in created[key.namespace] if other_stage < stage)
            depends_on = (namespace, *before)
            # Kubernetes deletes the objects of a deleted namespace, so Pulumi does not have to delete each of
            # them.
            deleted_with = None if desired.retains else namespace
        if key.kind != NAMESPACE.kind:
            created[key.namespace].append((stage, index))
        inputs = resource_inputs(manifest)
        result.append(
            Registration(
                resource_type(manifest),
                resource_name(key),
                inputs,
                depends_on,
                deleted_with,
                retain_on_delete,
            )
        )
    return result


def apply_stage(key: ObjectKey) -> int:
    """The stage of the object: 0, 1 or 2. In each namespace, Pulumi creates lower stages first."""
    return _STAGES.get(key.kind, 0)


def resource_type(manifest: Manifest) -> str:
    """The type token of the object's Pulumi resource, such as `kubernetes:core/v1:Namespace`."""
    return f"kubernetes:{_group(manifest['apiVersion'])}:{manifest['kind']}"


def resource_name(key: ObjectKey) -> str:
    """The name of the object's Pulumi resource: NAMESPACE/NAME, or NAME for a cluster-scoped object."""
    return f"{key.namespace}/{key.name}" if key.namespace else key.name


def resource_inputs(manifest: Manifest, awaits: Mapping[str, str] = NO_AWAIT) -> dict[str, Any]:
    """A copy of the manifest, with annotations that configure Pulumi's Kubernetes provider.

    `awaits` are the annotations that define whether Pulumi waits for the object.
    """
    metadata = manifest["metadata"]
    annotations = {**metadata.get("annotations", {}), **_ANNOTATIONS, **awaits}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}


def _group(api_version: str) -> str:
    return api_version if "/" in api_version else f"core/{api_version}"
