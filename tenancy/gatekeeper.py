"""Gatekeeper's constraints of one tenant: trusted registries and pod security."""

from tenancy.manifest import Manifest
from tenancy.settings import TenantSettings
from tenancy.tenant import Tenant


def gatekeeper_objects(tenant: Tenant, settings: TenantSettings) -> list[Manifest]:
    return []
