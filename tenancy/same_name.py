"""Tenants of one name in both API groups: the older one is the tenant, the newer one is rejected. Pure."""

from tenancy.base.errors import NameTaken
from tenancy.base.kinds import TENANTS
from tenancy.base.manifest import Manifest
from tenancy.base.names import FINALIZER


def has_finalizer(manifest: Manifest) -> bool:
    return FINALIZER in manifest["metadata"].get("finalizers", [])


def precedence(tenant: Manifest) -> tuple[str, bool, int]:
    """The sort key of Tenants of one name: the first one is the tenant."""
    # Creation times have whole seconds. Within a second, a Tenant with objects comes first, then the main
    # group.
    groups = [kind.api_version for kind in TENANTS]
    created = tenant["metadata"]["creationTimestamp"]
    return created, not has_finalizer(tenant), groups.index(tenant["apiVersion"])


def name_taken(older: Manifest) -> NameTaken:
    """The rejection of a Tenant whose name an older Tenant has."""
    return NameTaken(
        "metadata.name", f"taken by the {older['apiVersion']} Tenant of this name, which is older"
    )
