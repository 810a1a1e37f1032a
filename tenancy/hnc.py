"""The tenant's namespaces as a tree, for the Hierarchical Namespace Controller."""

from tenancy.manifest import Manifest
from tenancy.settings import TenantSettings
from tenancy.tenant import Tenant


def hnc_objects(tenant: Tenant, settings: TenantSettings) -> list[Manifest]:
    return []
