"""What a tenant is allowed, as annotations of its namespaces: the admission policies read them there.

An annotation that is absent means that there is no list; an empty one, that nothing is allowed. Items
are joined by commas, which none of them can hold.
"""

from collections.abc import Iterable
from typing import Final

from tenancy.base.names import NODE_SELECTOR_ANNOTATION, POLICY_PREFIX
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


def policy_annotations(tenant: str, settings: TenantSettings) -> dict[str, str]:
    lists: dict[str, Iterable[str] | None] = {
        REGISTRIES: settings.registries,
        PULL_POLICIES: settings.image_pull_policies,
        SERVICE_TYPES: settings.service_types,
        STORAGE_CLASSES: settings.storage_classes,
        INGRESS_CLASSES: settings.ingress_classes,
        GATEWAY_CLASSES: settings.gateway_classes,
        PRIORITY_CLASSES: settings.priority_classes,
        RUNTIME_CLASSES: settings.runtime_classes,
        HOSTNAMES: hostnames(tenant, settings),
        # Only those that are open as a whole: what is cut out of one, or its ports, a list can't tell.
        EGRESS_NETWORKS: [
            addresses.cidr
            for addresses in settings.network.egress or ()
            if not (addresses.except_ or addresses.ports)
        ],
    }
    annotations = {name: ",".join(items) for name, items in lists.items() if items is not None}
    if settings.node_selector:
        selector = ",".join(f"{key}={value}" for key, value in sorted(settings.node_selector.items()))
        annotations[NODE_SELECTOR] = annotations[NODE_SELECTOR_ANNOTATION] = selector
    return annotations


def hostnames(tenant: str, settings: TenantSettings) -> tuple[str, ...]:
    """The tenant's hosts, with its name filled in."""
    return tuple(host.replace("${tenant.name}", tenant) for host in settings.hostnames)


def hosts_overlap(one: str, other: str) -> bool:
    """Whether some host is meant by both; `*.` before a domain means every name below it."""
    return one == other or _is_below(one, other) or _is_below(other, one)


def _is_below(host: str, pattern: str) -> bool:
    return pattern.startswith("*.") and host.removeprefix("*").endswith(pattern[1:])
