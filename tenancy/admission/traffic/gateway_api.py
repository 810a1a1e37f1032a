"""Admission policies for the kinds of the Gateway API: Gateways, ListenerSets and routes.

The tables at the beginning of this module list the kinds. The policies are generated from these tables.
"""

from typing import Final

from tenancy.admission.policy_builder import (
    SPEC_IS_NEW,
    TENANT_NAMESPACES,
    cel_string,
    check,
    list_check,
    policy,
    rule,
)
from tenancy.admission.traffic.hosts import HOSTS, host_checks
from tenancy.base.manifest import Manifest
from tenancy.objects.policy_annotations import GATEWAY_CLASSES

GATEWAY_GROUP: Final = "gateway.networking.k8s.io"
# The API group of kinds that are still experimental.
EXPERIMENTAL_GROUP: Final = "gateway.networking.x-k8s.io"
GATEWAYS: Final = ("gateways",)
# Objects that add listeners to a Gateway, by API group.
LISTENER_SETS: Final = {GATEWAY_GROUP: ("listenersets",), EXPERIMENTAL_GROUP: ("xlistenersets",)}
ROUTES_WITH_HOSTS: Final = ("grpcroutes", "httproutes", "tlsroutes")
ROUTES_WITHOUT_HOSTS: Final = ("tcproutes", "udproutes")
_LISTENER_HOSTS: Final = "object.spec.?listeners.orValue([]).map(l, l.?hostname.orValue(''))"


def gateway_api_policies() -> list[Manifest]:
    return [*_gateways(), *_listener_sets(), *_routes(), *_routes_without_hosts()]


def gateway_api_rules() -> list[Manifest]:
    """Resource rules that match all kinds in the tables of this module."""
    kinds = (*GATEWAYS, *LISTENER_SETS[GATEWAY_GROUP], *ROUTES_WITH_HOSTS, *ROUTES_WITHOUT_HOSTS)
    return [
        rule(GATEWAY_GROUP, *kinds, version="*"),
        rule(EXPERIMENTAL_GROUP, *LISTENER_SETS[EXPERIMENTAL_GROUP], version="*"),
    ]


def _gateways() -> list[Manifest]:
    return policy(
        "tenancy-gateways",
        [rule(GATEWAY_GROUP, *GATEWAYS, version="*")],
        [
            list_check("spec.gatewayClassName", "object.spec.gatewayClassName", GATEWAY_CLASSES),
            *host_checks("spec.listeners[].hostname"),
            check(
                "object.spec.?addresses.orValue([]).size() == 0",
                cel_string("spec.addresses: not allowed for a tenant; remove the field"),
            ),
        ],
        variables={**HOSTS, "hosts": _LISTENER_HOSTS},
        conditions={"spec-is-new": SPEC_IS_NEW},
        namespaces=TENANT_NAMESPACES,
    )


def _listener_sets() -> list[Manifest]:
    """The policy for ListenerSets. A ListenerSet can add hosts to a Gateway that many tenants share."""
    return policy(
        "tenancy-listener-sets",
        [rule(group, *resources, version="*") for group, resources in LISTENER_SETS.items()],
        host_checks("spec.listeners[].hostname"),
        variables={**HOSTS, "hosts": _LISTENER_HOSTS},
        conditions={"spec-is-new": SPEC_IS_NEW},
        namespaces=TENANT_NAMESPACES,
    )


def _routes() -> list[Manifest]:
    """The policy for routes with hosts.

    The policy rejects a route without hostnames. Such a route would match every host of its Gateway,
    including hosts of other tenants.
    """
    return policy(
        "tenancy-routes",
        [rule(GATEWAY_GROUP, *ROUTES_WITH_HOSTS, version="*")],
        [
            check(
                "variables.hosts.size() > 0", cel_string("spec.hostnames: must list the hosts of the route")
            ),
            *host_checks("spec.hostnames"),
        ],
        variables={**HOSTS, "hosts": "object.spec.?hostnames.orValue([])"},
        conditions={"spec-is-new": SPEC_IS_NEW},
        namespaces=TENANT_NAMESPACES,
    )


def _routes_without_hosts() -> list[Manifest]:
    """The policy for TCPRoutes and UDPRoutes.

    Such a route gets all traffic of a listener. So its parents must be in the namespace of the route.
    Otherwise, a tenant could get the traffic of a Gateway that many tenants share.
    """
    return policy(
        "tenancy-routes-without-hosts",
        [rule(GATEWAY_GROUP, *ROUTES_WITHOUT_HOSTS, version="*")],
        [
            check(
                "object.spec.?parentRefs.orValue([]).all(p, "
                "p.?namespace.orValue(request.namespace) == request.namespace)",
                cel_string(
                    "spec.parentRefs[].namespace: must be the namespace of the route, because a route "
                    "without hosts gets all traffic of its parent; use an HTTPRoute or a TLSRoute"
                ),
            )
        ],
        conditions={"spec-is-new": SPEC_IS_NEW},
        namespaces=TENANT_NAMESPACES,
    )
