"""Admission policies for Endpoints and EndpointSlices."""

from typing import Final

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
from tenancy.base.manifest import Manifest
from tenancy.objects.policy_annotations import EGRESS_NETWORKS

NETWORKS: Final = {**ANNOTATIONS, "networks": annotation_items(EGRESS_NETWORKS)}
_IS_IN_NETWORKS: Final = "isIP(a) && variables.networks.exists(n, cidr(n).containsIP(a))"
MUST_BE_IN_NETWORKS: Final = f"must be in the tenant\\'s egress networks' + {allowed_suffix(EGRESS_NETWORKS)}"


def endpoint_policies() -> list[Manifest]:
    address_lists = [f"s.?{name}.orValue([]).map(a, a.ip)" for name in ("addresses", "notReadyAddresses")]
    return [
        *_address_policy(
            *("", "endpoints", "subsets[].addresses"),
            f"object.?subsets.orValue([]).all(s, ({' + '.join(address_lists)}).all(a, {_IS_IN_NETWORKS}))",
        ),
        *_address_policy(
            *("discovery.k8s.io", "endpointslices", "endpoints[].addresses"),
            f"object.?endpoints.orValue([]).all(e, e.addresses.all(a, {_IS_IN_NETWORKS}))",
        ),
    ]


def _address_policy(group: str, resource: str, field: str, are_in_networks: str) -> list[Manifest]:
    """A policy that rejects endpoint addresses outside the CIDRs in the tenant's `network.egress`.

    An ingress controller connects to the addresses of endpoints. The tenant's NetworkPolicies do not apply to
    the pods of the ingress controller. Without this policy, a tenant could use the ingress controller to
    connect to addresses that the NetworkPolicies forbid.

    `are_in_networks` is a CEL expression. It is true if all addresses are inside the CIDRs.
    """
    return policy(
        f"tenancy-{resource}",
        [rule(group, resource)],
        [check(are_in_networks, f"'{field}: {MUST_BE_IN_NETWORKS}")],
        variables=NETWORKS,
        conditions={"others": f"!{sender_is(KUBERNETES)}"},
        namespaces=TENANT_NAMESPACES,
    )
