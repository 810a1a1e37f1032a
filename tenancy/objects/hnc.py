"""The objects that arrange a tenant's namespaces as a tree for the Hierarchical Namespace Controller (HNC).

One namespace is the root. All other namespaces of the tenant are its children.
"""

from typing import Final

from tenancy.base.errors import InvalidSpec
from tenancy.base.manifest import Manifest, namespaced_manifest
from tenancy.spec.settings import TenantSettings
from tenancy.spec.tenant import TenantModel

API_VERSION: Final = "hnc.x-k8s.io/v1alpha2"
# HNC reads only the HierarchyConfiguration of this name.
_NAME: Final = "hierarchy"
_NO_PROPAGATION: Final = {"propagate.hnc.x-k8s.io/none": "true"}


def hnc_objects(tenant: TenantModel, settings: TenantSettings) -> list[Manifest]:
    """A HierarchyConfiguration for each namespace.

    The HierarchyConfiguration of the root namespace sets no parent. It is still needed. Without it, somebody
    could create a HierarchyConfiguration with a parent that does not belong to the tenant.

    Raises InvalidSpec if `hnc.parent` is not a namespace of the tenant.
    """
    # The spec does not contain `allowCascadingDeletion: false`, because HNC removes a false value when it
    # writes the object. If somebody sets the field to true, the change is still drift, because the desired
    # spec does not contain the field.
    root = _root(tenant, settings)
    return [
        namespaced_manifest(
            API_VERSION,
            "HierarchyConfiguration",
            tenant.name,
            name,
            _NAME,
            spec={} if name == root else {"parent": root},
        )
        for name in tenant.namespaces()
    ]


def without_hnc_propagation(manifest: Manifest) -> Manifest:
    """A copy of the object, annotated so that HNC does not propagate it to child namespaces.

    Every namespace has its own Roles and RoleBindings, and their names are the same in all namespaces.
    Without the annotation, HNC would overwrite the Roles and RoleBindings of a child namespace with those of
    the root. Also, HNC would not set the parent of a namespace that already has Roles and RoleBindings with
    these names.
    """
    metadata = manifest["metadata"]
    annotations = {**metadata.get("annotations", {}), **_NO_PROPAGATION}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}


def _root(tenant: TenantModel, settings: TenantSettings) -> str:
    namespaces = tenant.namespaces()
    parent = settings.hnc.parent
    if parent is None:
        return next(iter(namespaces))
    for full_name, namespace_spec in namespaces.items():
        if namespace_spec is not None and namespace_spec.name == parent:
            return full_name
    raise InvalidSpec("spec.hnc.parent", f"there is no namespace {parent!r} in spec.namespaces")
