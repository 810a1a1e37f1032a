"""The objects of a tenant for the integrations Gatekeeper, Istio and HNC.

Objects whose CRD is not installed are left out. The tenant works without these objects.
"""

from collections.abc import Collection, Mapping

from tenancy.base.kinds import OPTIONAL_KINDS, Kind, kind_of
from tenancy.base.manifest import Manifest
from tenancy.objects.gatekeeper import gatekeeper_objects
from tenancy.objects.hnc import hnc_objects
from tenancy.objects.istio import istio_objects
from tenancy.spec.settings import TenantSettings
from tenancy.spec.tenant import TenantModel

# The kinds of Gatekeeper, Istio and HNC that a cluster serves.
ServedKinds = Collection[Kind]
ALL_INTEGRATION_KINDS: ServedKinds = OPTIONAL_KINDS


def integration_objects(
    tenant: TenantModel, settings: TenantSettings, served: ServedKinds
) -> tuple[list[Manifest], Mapping[str, tuple[str, ...]]]:
    """A pair: the objects whose kind the cluster serves, and the names of the missing CRDs.

    The CRDs are grouped by integration. The keys are names of integrations, such as `Istio`.
    """
    manifests: list[Manifest] = []
    missing_crds: dict[str, tuple[str, ...]] = {}
    objects_by_integration = {
        "Gatekeeper": gatekeeper_objects(tenant, settings) if settings.gatekeeper.enabled else [],
        "Istio": istio_objects(tenant, settings) if settings.istio.enabled else [],
        "HNC": hnc_objects(tenant, settings) if settings.hnc.enabled else [],
    }
    for integration, objects in objects_by_integration.items():
        kinds = dict.fromkeys(kind_of(manifest) for manifest in objects)
        manifests += [manifest for manifest in objects if kind_of(manifest) in served]
        if missing := tuple(kind.crd for kind in kinds if kind not in served):
            missing_crds[integration] = missing
    return manifests, missing_crds
