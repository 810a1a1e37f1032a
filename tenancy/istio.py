"""Istio's objects of one tenant: gateway, authorization, strict TLS between pods, sidecar scope."""

from tenancy.manifest import Manifest
from tenancy.settings import TenantSettings
from tenancy.tenant import Tenant


def istio_objects(tenant: Tenant, settings: TenantSettings) -> list[Manifest]:
    return []
