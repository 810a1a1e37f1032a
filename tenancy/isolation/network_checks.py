"""Checks that the pods of a tenant connect only to the tenant and to its allowed networks."""

from typing import Any, Final

from tenancy.base.kinds import NETWORK_POLICY
from tenancy.isolation.check import PROBE, RBAC, Check, Level, Request, Role, policy, tenant_object
from tenancy.isolation.requests import (
    DESTINATION_RULE,
    ENDPOINT_SLICE,
    ENDPOINTS,
    LISTENER_SET,
    PORTS,
    SERVICE_ENTRY,
    TCP_ROUTE,
    VIRTUAL_SERVICE,
    WORKLOAD_ENTRY,
    create,
)
from tenancy.isolation.target import Target

_NETWORK_POLICIES: Final = policy("network-policies")
_FOREIGN_HOST: Final = f"{PROBE}.invalid"


def _network_policy(target: Target, **spec: Any) -> Request:
    return create(target, NETWORK_POLICY, spec={"podSelector": {}, **spec})


def _endpoint_slice(target: Target) -> Request:
    endpoints = [{"addresses": [target.foreign_address]}]
    return create(target, ENDPOINT_SLICE, addressType="IPv4", endpoints=endpoints)


def _listener_set(target: Target) -> Request:
    listener = {"name": "web", "port": 80, "protocol": "HTTP", "hostname": _FOREIGN_HOST}
    return create(target, LISTENER_SET, spec={"parentRef": {"name": PROBE}, "listeners": [listener]})


def _compared(check_id: str, title: str, name: str) -> Check:
    """A check that sends no request. It compares the NetworkPolicy `name` with its desired state."""
    return Check(check_id, title, Level.BASIC, Role.OUTSIDER, (tenant_object(NETWORK_POLICY, name),))


NETWORK_CHECKS: Final = (
    _compared("network-default-deny", "Pods connect to other tenants", "default-deny-all"),
    _compared("network-isolation", "Pods of other tenants connect to the tenant", "tenant-isolation"),
    _compared("network-intra-tenant", "The tenant's own policy allows other tenants", "allow-intra-tenant"),
    _compared("network-dns", "Pods use DNS servers outside the cluster", "allow-dns"),
    _compared("network-shared", "Pods connect to namespaces of the platform", "allow-platform-shared"),
    Check(
        "network-ingress",
        "A NetworkPolicy allows every source",
        Level.SELF_SERVICE,
        Role.ADMIN,
        (_NETWORK_POLICIES,),
        lambda target: _network_policy(target, ingress=[{}]),
    ),
    Check(
        "network-peer",
        "A NetworkPolicy allows the pods of other tenants",
        Level.SELF_SERVICE,
        Role.ADMIN,
        (_NETWORK_POLICIES,),
        lambda target: _network_policy(target, ingress=[{"from": [{"namespaceSelector": {}}]}]),
    ),
    Check(
        "network-egress",
        "A NetworkPolicy allows every destination",
        Level.SELF_SERVICE,
        Role.ADMIN,
        (_NETWORK_POLICIES,),
        lambda target: _network_policy(target, egress=[{}], policyTypes=["Egress"]),
    ),
    Check(
        "network-addresses",
        "A NetworkPolicy allows addresses outside the tenant's networks",
        Level.SELF_SERVICE,
        Role.ADMIN,
        (_NETWORK_POLICIES,),
        lambda target: _network_policy(
            target, egress=[{"to": [{"ipBlock": {"cidr": f"{target.foreign_address}/32"}}]}]
        ),
    ),
    Check(
        "endpoints",
        "Endpoints send traffic to foreign addresses",
        Level.HOSTILE,
        Role.OPERATOR,
        (policy("endpoints"),),
        lambda target: create(
            target, ENDPOINTS, subsets=[{"addresses": [{"ip": target.foreign_address}], "ports": PORTS}]
        ),
    ),
    Check(
        "endpoint-slices",
        "An EndpointSlice sends traffic to foreign addresses",
        Level.HOSTILE,
        Role.ADMIN,
        (RBAC, policy("endpointslices")),
        _endpoint_slice,
    ),
    Check(
        "listener-set-host",
        "A ListenerSet takes a host of another tenant",
        Level.SELF_SERVICE,
        Role.ADMIN,
        (RBAC, policy("listener-sets")),
        _listener_set,
    ),
    Check(
        "route-parent",
        "A route takes all traffic of a shared Gateway",
        Level.HOSTILE,
        Role.ADMIN,
        (RBAC, policy("routes-without-hosts")),
        lambda target: create(
            target,
            TCP_ROUTE,
            spec={"parentRefs": [{"name": PROBE, "namespace": target.foreign_namespace}], "rules": []},
        ),
    ),
    Check(
        "virtual-service-host",
        "A VirtualService takes a host of another tenant",
        Level.SELF_SERVICE,
        Role.ADMIN,
        (RBAC, policy("virtual-services")),
        lambda target: create(target, VIRTUAL_SERVICE, spec={"hosts": [_FOREIGN_HOST]}),
    ),
    Check(
        "destination-rule-host",
        "A DestinationRule changes the traffic of other tenants",
        Level.HOSTILE,
        Role.ADMIN,
        (RBAC, policy("destination-rules")),
        lambda target: create(target, DESTINATION_RULE, spec={"host": _FOREIGN_HOST}),
    ),
    Check(
        "service-entry-host",
        "A ServiceEntry takes a host in the whole mesh",
        Level.HOSTILE,
        Role.ADMIN,
        (RBAC, policy("service-entries")),
        lambda target: create(target, SERVICE_ENTRY, spec={"hosts": [_FOREIGN_HOST]}),
    ),
    Check(
        "workload-entry-address",
        "A WorkloadEntry sends traffic to foreign addresses",
        Level.HOSTILE,
        Role.ADMIN,
        (RBAC, policy("workload-entries")),
        lambda target: create(target, WORKLOAD_ENTRY, spec={"address": target.foreign_address}),
    ),
)
