"""Handles two Tenants that have the same name in different API groups. No I/O.

The older Tenant is used. The newer Tenant is rejected.
"""

from tenancy.base.errors import NameTaken
from tenancy.base.kinds import TENANTS
from tenancy.base.manifest import Manifest
from tenancy.base.names import FINALIZER


def has_finalizer(manifest: Manifest) -> bool:
    return FINALIZER in manifest["metadata"].get("finalizers", [])


def precedence(tenant: Manifest) -> tuple[str, bool, int]:
    """A sort key for Tenants with the same name. The first Tenant in this order is used."""
    # Creation times have a precision of one second. If they are equal, the Tenant with the finalizer comes
    # first, because its objects may already exist. Otherwise the group `platform.ai` comes first.
    groups = [kind.api_version for kind in TENANTS]
    created = tenant["metadata"]["creationTimestamp"]
    return created, not has_finalizer(tenant), groups.index(tenant["apiVersion"])


def name_taken(older: Manifest) -> NameTaken:
    """The error for a Tenant that has the same name as the Tenant `older`."""
    return NameTaken("metadata.name", f"an older Tenant in {older['apiVersion']} already has this name")
