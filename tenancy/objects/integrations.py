"""What a tenant gets of other projects, where the cluster has them.

Called by `desired`. An integration whose CRDs are absent is left out and named; the rest of the tenant
stands without it.
"""

from collections.abc import Collection, Mapping

from tenancy.base.kinds import OPTIONAL_KINDS, Kind, kind_of
from tenancy.base.manifest import Manifest
from tenancy.objects.gatekeeper import gatekeeper_objects
from tenancy.objects.hnc import hnc_objects
from tenancy.objects.istio import istio_objects
from tenancy.spec.settings import TenantSettings
from tenancy.spec.tenant import Tenant

# The kinds of integrations that a cluster serves.
Served = Collection[Kind]
EVERYTHING: Served = OPTIONAL_KINDS


def integration_objects(
    tenant: Tenant, settings: TenantSettings, served: Served
) -> tuple[list[Manifest], Mapping[str, tuple[str, ...]]]:
    """The objects that can be made, and the CRDs that are missing, by integration."""
    made: list[Manifest] = []
    missing: dict[str, tuple[str, ...]] = {}
    wanted = {
        "Gatekeeper": gatekeeper_objects(tenant, settings) if settings.gatekeeper.enabled else [],
        "Istio": istio_objects(tenant, settings) if settings.istio.enabled else [],
        "HNC": hnc_objects(tenant, settings) if settings.hnc.enabled else [],
    }
    for name, objects in wanted.items():
        kinds = dict.fromkeys(kind_of(manifest) for manifest in objects)
        made += [manifest for manifest in objects if kind_of(manifest) in served]
        if absent := tuple(kind.crd for kind in kinds if kind not in served):
            missing[name] = absent
    return made, missing
