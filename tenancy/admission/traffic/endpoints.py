"""Admission policies for Endpoints and EndpointSlices, and CEL expressions for the addresses of a tenant.

An ingress controller connects to the addresses of endpoints. The tenant's NetworkPolicies do not apply to the
pods of the ingress controller. Without these policies, a tenant could use the ingress controller to connect
to addresses that the NetworkPolicies forbid.

An address must be in the tenant's egress networks. A broad egress network, such as 0.0.0.0/0, also contains
the pods of other tenants. So an address must not be in a network of the cluster either. The platform setting
`clusterNetworks` lists these networks. An annotation of the namespace `tenancy-system` contains the setting.
This namespace is the parameter (`params`) of the policies, so that they can read the annotation.
"""

from typing import Any, Final

from tenancy.admission.policy_builder import (
    ANNOTATIONS,
    KUBERNETES,
    TENANT_NAMESPACES,
    allowed_suffix,
    annotation_items,
    check,
    policy,
    rule,
    sender_is,
)
from tenancy.base.kinds import NAMESPACE
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import CLUSTER_NETWORKS, SYSTEM_NAMESPACE
from tenancy.objects.policy_annotations import EGRESS_NETWORKS

NETWORKS: Final = {**ANNOTATIONS, "networks": annotation_items(EGRESS_NETWORKS)}
MUST_BE_IN_NETWORKS: Final = f"must be in the tenant\\'s egress networks' + {allowed_suffix(EGRESS_NETWORKS)}"
# The arguments of `policy` for policies whose checks use the networks of the cluster.
CLUSTER_PARAMETERS: Final[dict[str, Any]] = {"parameters": NAMESPACE, "parameter_name": SYSTEM_NAMESPACE}
_CLUSTER_NETWORKS: Final = f"params.metadata.?annotations[?'{CLUSTER_NETWORKS}'].orValue('')"
ADDRESS_VARIABLES: Final = {
    **NETWORKS,
    "cluster_networks": f"{_CLUSTER_NETWORKS} == '' ? [] : {_CLUSTER_NETWORKS}.split(',')",
}


def endpoint_policies() -> list[Manifest]:
    address_lists = [f"s.?{name}.orValue([]).map(a, a.ip)" for name in ("addresses", "notReadyAddresses")]
    return [
        *_address_policy(
            *("", "endpoints", "subsets[].addresses"),
            f"object.?subsets.orValue([]).all(s, ({' + '.join(address_lists)}).all(a, IS_ALLOWED))",
        ),
        *_address_policy(
            *("discovery.k8s.io", "endpointslices", "endpoints[].addresses"),
            "object.?endpoints.orValue([]).all(e, e.addresses.all(a, IS_ALLOWED))",
        ),
    ]


def address_checks(field: str, are_allowed: str) -> list[Manifest]:
    """Two checks: all addresses are in the tenant's egress networks, and none is in a network of the cluster.

    `field` is the path of the addresses in error messages. `are_allowed` is a CEL expression with the
    placeholder IS_ALLOWED, such as `object.addresses.all(a, IS_ALLOWED)`. Each check replaces the placeholder
    with its condition for one address `a`.
    """
    conditions = {
        "isIP(a) && variables.networks.exists(n, cidr(n).containsIP(a))": MUST_BE_IN_NETWORKS,
        "!isIP(a) || !variables.cluster_networks.exists(n, cidr(n).containsIP(a))": (
            "must not be in a network of the cluster, such as ' + variables.cluster_networks.join(', ')"
        ),
    }
    return [
        check(are_allowed.replace("IS_ALLOWED", condition), f"'{field}: {message}")
        for condition, message in conditions.items()
    ]


def _address_policy(group: str, resource: str, field: str, are_allowed: str) -> list[Manifest]:
    return policy(
        f"tenancy-{resource}",
        [rule(group, resource)],
        address_checks(field, are_allowed),
        variables=ADDRESS_VARIABLES,
        conditions={"others": f"!{sender_is(KUBERNETES)}"},
        namespaces=TENANT_NAMESPACES,
        **CLUSTER_PARAMETERS,
    )
