"""All manifests of the platform: CRDs, the watcher and its RBAC, admission policies, monitoring.

The functions do not access the cluster. Some kinds, such as PrometheusRule, belong to other projects. Objects
of these kinds are included only if the cluster serves the kinds.
"""

from collections.abc import Collection
from typing import Final

from tenancy.admission.manifests import admission_manifests
from tenancy.admission.spec_author import spec_author_mutations
from tenancy.base.kinds import MUTATING_POLICIES, Kind, kind_of
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import WATCHER_USER
from tenancy.platform.constraint_templates import constraint_templates, hnc_configuration
from tenancy.platform.crd_guard import crd_guard
from tenancy.platform.grafana_dashboard import dashboard_config_map
from tenancy.platform.namespaces import platform_namespaces, platform_network_policies
from tenancy.platform.prometheus import prometheus_rule, service_monitor
from tenancy.platform.reader_roles import reader_roles
from tenancy.platform.settings import PlatformSettings
from tenancy.platform.watcher_rights import watcher_rbac
from tenancy.platform.watcher_workload import plans_config_map, watcher_workload
from tenancy.spec.crd import crds

_DEFAULTS: Final = PlatformSettings()


def platform_manifests(
    settings: PlatformSettings = _DEFAULTS, served: Collection[Kind] = ()
) -> list[Manifest]:
    """All manifests. Each manifest comes after the manifests that it needs, so they can be applied in order.

    `served` are the optional kinds that the cluster serves. Objects of other optional kinds are left out.
    `served` can also contain versions of MutatingAdmissionPolicy.
    """
    mutating = [kind for kind in MUTATING_POLICIES if kind in served][:1]
    return [
        *crds(),
        *platform_namespaces(settings),
        *watcher_rbac(),
        *reader_roles(),
        *crd_guard(),
        *admission_manifests(WATCHER_USER),
        *(manifest for kind in mutating for manifest in spec_author_mutations(kind)),
        *platform_network_policies(settings),
        *plans_config_map(settings),
        *watcher_workload(settings),
        dashboard_config_map(),
        *(manifest for manifest in _optional_manifests(settings) if kind_of(manifest) in served),
    ]


def optional_kinds(settings: PlatformSettings) -> tuple[Kind, ...]:
    """The kinds of platform objects that other projects define, such as PrometheusRule."""
    return tuple(dict.fromkeys(kind_of(manifest) for manifest in _optional_manifests(settings)))


def _optional_manifests(settings: PlatformSettings) -> list[Manifest]:
    """Manifests of kinds whose CRDs belong to other projects."""
    manifests = [prometheus_rule(settings)]
    if settings.image is not None:
        manifests.append(service_monitor(settings))
    return [*manifests, *constraint_templates(), hnc_configuration()]
