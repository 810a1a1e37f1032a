"""The tenant's namespaces as a tree, for the Hierarchical Namespace Controller.

Called by `integrations`. One namespace is the root, all others are its children.
"""

from typing import Final

from tenancy.base.errors import InvalidSpec
from tenancy.base.manifest import Manifest, namespaced
from tenancy.spec.settings import TenantSettings
from tenancy.spec.tenant import Tenant

API_VERSION: Final = "hnc.x-k8s.io/v1alpha2"
# The only name HNC reads in a namespace.
_NAME: Final = "hierarchy"
_STAYS: Final = {"propagate.hnc.x-k8s.io/none": "true"}


def hnc_objects(tenant: Tenant, settings: TenantSettings) -> list[Manifest]:
    """The root has an object, too: a parent slipped in there would hang the tenant under somebody else.

    `allowCascadingDeletion` is left out: HNC takes that as false, and drops a false when it writes. Since
    nothing may stand in a spec beside what we set, a true is taken back.
    """
    root = _root(tenant, settings)
    return [
        namespaced(
            API_VERSION,
            "HierarchyConfiguration",
            tenant.name,
            name,
            _NAME,
            spec={} if name == root else {"parent": root},
        )
        for name in tenant.namespaces()
    ]


def staying(manifest: Manifest) -> Manifest:
    """The same object, marked so that HNC does not copy it down the tree.

    Every namespace has its own of our Roles and RoleBindings. HNC would overwrite those of the children with
    the root's, and refuses a parent as long as it would have to.
    """
    metadata = manifest["metadata"]
    annotations = {**metadata.get("annotations", {}), **_STAYS}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}


def _root(tenant: Tenant, settings: TenantSettings) -> str:
    namespaces = tenant.namespaces()
    wanted = settings.hnc.parent
    if wanted is None:
        return next(iter(namespaces))
    for full_name, given in namespaces.items():
        if given is not None and given.name == wanted:
            return full_name
    raise InvalidSpec("spec.hnc.parent", f"{wanted!r} is not in spec.namespaces")
