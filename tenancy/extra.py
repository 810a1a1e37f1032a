"""The extra objects that plans and tenants add to each namespace, with the tenant's facts filled in."""

from tenancy.manifest import Manifest
from tenancy.settings import TenantSettings
from tenancy.tenant import Tenant


def extra_resources(tenant: Tenant, settings: TenantSettings, home: Manifest) -> list[Manifest]:
    """For one namespace, given as the Namespace object `home`."""
    return []
