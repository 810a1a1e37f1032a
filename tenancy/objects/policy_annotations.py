"""A tenant's allow lists, as annotations of its namespaces. The admission policies read the annotations.

If an annotation is empty, no value is allowed. If an annotation is missing, every value is allowed. There are
four exceptions: if the list of tolerations, load balancer classes, allowed annotations or extended resources
is missing, no value is allowed. Commas separate the items of a list, and no item can contain a comma.
"""

from collections.abc import Iterable
from typing import Final

from tenancy.base.labels import NODE_SELECTOR_ANNOTATION, POLICY_PREFIX
from tenancy.spec.settings import TenantSettings

REGISTRIES: Final = f"{POLICY_PREFIX}registries"
PULL_POLICIES: Final = f"{POLICY_PREFIX}image-pull-policies"
SERVICE_TYPES: Final = f"{POLICY_PREFIX}service-types"
STORAGE_CLASSES: Final = f"{POLICY_PREFIX}storage-classes"
INGRESS_CLASSES: Final = f"{POLICY_PREFIX}ingress-classes"
GATEWAY_CLASSES: Final = f"{POLICY_PREFIX}gateway-classes"
PRIORITY_CLASSES: Final = f"{POLICY_PREFIX}priority-classes"
RUNTIME_CLASSES: Final = f"{POLICY_PREFIX}runtime-classes"
HOSTNAMES: Final = f"{POLICY_PREFIX}hostnames"
NODE_SELECTOR: Final = f"{POLICY_PREFIX}node-selector"
EGRESS_NETWORKS: Final = f"{POLICY_PREFIX}egress-networks"
TOLERATIONS: Final = f"{POLICY_PREFIX}tolerations"
NODE_POOL: Final = f"{POLICY_PREFIX}node-pool"
MAX_GRACE_PERIOD: Final = f"{POLICY_PREFIX}max-grace-period"
EXTENDED_RESOURCES: Final = f"{POLICY_PREFIX}extended-resources"
LOAD_BALANCER_CLASSES: Final = f"{POLICY_PREFIX}load-balancer-classes"
ALLOWED_ANNOTATIONS: Final = f"{POLICY_PREFIX}allowed-annotations"


def policy_annotations(tenant_name: str, settings: TenantSettings) -> dict[str, str]:
    """The annotations that the admission policies read. Every namespace of the tenant has them."""
    allow_lists: dict[str, Iterable[str] | None] = {
        REGISTRIES: settings.registries,
        PULL_POLICIES: settings.image_pull_policies,
        SERVICE_TYPES: settings.service_types,
        STORAGE_CLASSES: settings.storage_classes,
        INGRESS_CLASSES: settings.ingress_classes,
        GATEWAY_CLASSES: settings.gateway_classes,
        PRIORITY_CLASSES: settings.priority_classes,
        RUNTIME_CLASSES: settings.runtime_classes,
        TOLERATIONS: settings.tolerations,
        LOAD_BALANCER_CLASSES: settings.load_balancer_classes,
        ALLOWED_ANNOTATIONS: settings.allowed_annotations,
        EXTENDED_RESOURCES: _extended_resources(settings) or None,
        HOSTNAMES: hostnames(tenant_name, settings),
        # The annotation can't express exceptions and ports, so CIDRs with exceptions or ports are left out.
        EGRESS_NETWORKS: [
            addresses.cidr
            for addresses in settings.network.egress or ()
            if not (addresses.except_ or addresses.ports)
        ],
    }
    annotations = {name: ",".join(items) for name, items in allow_lists.items() if items is not None}
    if labels := settings.forced_node_selector():
        selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
        annotations[NODE_SELECTOR] = annotations[NODE_SELECTOR_ANNOTATION] = selector
    if settings.dedicated_nodes:
        annotations[NODE_POOL] = settings.dedicated_nodes
    if settings.max_grace_period_seconds is not None:
        annotations[MAX_GRACE_PERIOD] = str(settings.max_grace_period_seconds)
    return annotations


def _extended_resources(settings: TenantSettings) -> list[str]:
    """The extended resources (such as `nvidia.com/gpu`) and huge pages that the tenant's quotas limit."""
    names = {key.removeprefix("requests.") for quota in settings.quotas for key in quota.hard}
    return sorted(name for name in names if _is_extended(name))


def _is_extended(name: str) -> bool:
    is_count = name.startswith("count/") or name.endswith(("/persistentvolumeclaims", "/requests.storage"))
    return name.startswith("hugepages-") or ("/" in name and not is_count)


def hostnames(tenant_name: str, settings: TenantSettings) -> tuple[str, ...]:
    """The tenant's host patterns, with the placeholder `${tenant.name}` replaced."""
    return tuple(host.replace("${tenant.name}", tenant_name) for host in settings.hostnames)


def hosts_overlap(one: str, other: str) -> bool:
    """Whether at least one host matches both patterns. `*.DOMAIN` matches every subdomain of DOMAIN."""
    return one == other or _is_subdomain(one, other) or _is_subdomain(other, one)


def _is_subdomain(host: str, pattern: str) -> bool:
    return pattern.startswith("*.") and host.removeprefix("*").endswith(pattern[1:])
