"""Handles two Tenants that have the same name in different API groups. No I/O.

The platform applies the older Tenant and rejects the newer Tenant.
"""

from collections.abc import Iterable, Mapping

from tenancy.base.errors import NameTaken
from tenancy.base.kinds import TENANTS, kind_of
from tenancy.base.manifest import Manifest
from tenancy.base.names import FINALIZER
from tenancy.base.reasons import Reason


def has_finalizer(manifest: Manifest) -> bool:
    return FINALIZER in manifest["metadata"].get("finalizers", [])


def precedence(tenant: Manifest) -> tuple[str, bool, int]:
    """A sort key for Tenants with the same name. The platform applies only the first Tenant in this order."""
    # Creation times have a precision of one second. If they are equal, the Tenant with the finalizer comes
    # first, because its objects may already exist. Otherwise the group `platform.ai` comes first.
    groups = [kind.api_version for kind in TENANTS]
    created = tenant["metadata"]["creationTimestamp"]
    return created, not has_finalizer(tenant), groups.index(tenant["apiVersion"])


def tenants_by_name(tenants: Iterable[Manifest]) -> dict[str, Manifest]:
    """The Tenants by name. If two Tenants have the same name, the result contains only the older one."""
    ordered = sorted(tenants, key=precedence, reverse=True)
    return {tenant["metadata"]["name"]: tenant for tenant in ordered}


def is_duplicate(tenant: Manifest, by_name: Mapping[str, Manifest]) -> bool:
    """Whether an older Tenant in the other API group has the same name.

    If so, the namespaces and other objects with this tenant name belong to the older Tenant. `by_name` is a
    result of `tenants_by_name`. The function also returns True if a condition of `tenant` has the reason
    `NameTaken`.
    """
    first = by_name.get(tenant["metadata"]["name"], tenant)
    conditions = (tenant.get("status") or {}).get("conditions") or ()
    is_rejected = any(condition.get("reason") == Reason.NAME_TAKEN for condition in conditions)
    return is_rejected or first["apiVersion"] != tenant["apiVersion"]


def full_name(tenant: Manifest) -> str:
    """The full name of a Tenant, such as `tenants.platform.ai/research`. kubectl accepts this name.

    The name alone is ambiguous if both API groups have a Tenant with this name.
    """
    return f"{kind_of(tenant).resource}/{tenant['metadata']['name']}"


def name_taken(older: Manifest) -> NameTaken:
    """The error for a Tenant that has the same name as the Tenant `older`."""
    return NameTaken(
        "metadata.name",
        f"the older Tenant {full_name(older)} already has this name; rename or delete one of the two Tenants",
    )
