"""A tenant's routes and endpoints cannot use hosts of other tenants or reach pods of other tenants."""

from typing import Any

import pytest

from tenancy.base.kinds import SERVICE, Kind
from tests.admission.network_requests import PORTS, gateway, ingress, route, service
from tests.admission.people import (
    DESTINATION_RULE,
    ENDPOINT_SLICE,
    ENDPOINTS,
    GATEWAY,
    HTTP_ROUTE,
    INGRESS,
    LISTENER_SET,
    SERVICE_ENTRY,
    TCP_ROUTE,
    TLS_ROUTE,
    UDP_ROUTE,
    VIRTUAL_SERVICE,
    WORKLOAD_ENTRY,
    Attempt,
    Person,
    create,
    delete,
    denied_by,
)

RIVALS_SERVICE = "web.tenant-rival.svc.cluster.local"
OWN_SERVICE = "web.tenant-acme.svc.cluster.local"
EXTERNAL_DNS = "external-dns.alpha.kubernetes.io/hostname"
PORTS_OF_SLICE = [{"port": 80, "protocol": "TCP"}]


def listener_set(*hosts: str) -> Attempt:
    listeners = [{"name": "web", "port": 80, "protocol": "HTTP", "hostname": host} for host in hosts]
    parent = {"name": "shared", "namespace": "edge"}
    return create(LISTENER_SET, "attempt", spec={"parentRef": parent, "listeners": listeners})


def plain_route(kind: Kind, **parent: str) -> Attempt:
    return create(kind, "attempt", spec={"parentRefs": [{"name": "gateway", **parent}]})


def virtual_service(*hosts: str, **spec: Any) -> Attempt:
    return create(VIRTUAL_SERVICE, "attempt", spec={"hosts": list(hosts), **spec})


def to(host: str, rules: str = "http") -> Attempt:
    return virtual_service("a.acme.example", **{rules: [{"route": [{"destination": {"host": host}}]}]})


def service_entry(*hosts: str, export_to: tuple[str, ...] = (".",), **spec: Any) -> Attempt:
    return create(SERVICE_ENTRY, "attempt", spec={"hosts": list(hosts), "exportTo": list(export_to), **spec})


def workload_entry(address: str, namespace: str = "tenant-acme") -> Attempt:
    return create(WORKLOAD_ENTRY, "attempt", namespace, spec={"address": address})


def destination_rule(host: str) -> Attempt:
    return create(DESTINATION_RULE, "attempt", spec={"host": host})


# Each value is a request, the policy that rejects it, and a part of the error message.
ATTACKS: dict[str, tuple[Attempt, str, str]] = {
    "a ListenerSet takes a host": (
        listener_set("a.acme.example", "rival.example"),
        *("listener-sets", "spec.listeners[].hostname: rival.example is not one of the tenant's hosts"),
    ),
    "a ListenerSet takes every host": (listener_set(""), "listener-sets", "hostname: required"),
    "a TLSRoute takes a host": (
        create(TLS_ROUTE, "attempt", spec={"hostnames": ["rival.example"]}),
        *("routes", "spec.hostnames: rival.example is not"),
    ),
    "a TLSRoute takes every host": (create(TLS_ROUTE, "attempt", spec={}), "routes", "spec.hostnames: must"),
    "a TCPRoute takes a shared port": (
        plain_route(TCP_ROUTE, namespace="edge"),
        *("routes-without-hosts", "spec.parentRefs[].namespace: must be the namespace of the route"),
    ),
    "a UDPRoute takes a shared port": (
        plain_route(UDP_ROUTE, namespace="edge"),
        *("routes-without-hosts", "spec.parentRefs[].namespace"),
    ),
    "a Gateway takes an address": (
        create(
            GATEWAY,
            "attempt",
            spec={"gatewayClassName": "public", "addresses": [{"value": "192.0.2.1"}], "listeners": []},
        ),
        *("gateways", "spec.addresses: not allowed"),
    ),
    "a Gateway's Service claims a DNS name": (
        create(
            GATEWAY,
            "attempt",
            spec={"gatewayClassName": "public", "infrastructure": {"annotations": {EXTERNAL_DNS: "a.test"}}},
        ),
        *("annotations", f"spec.infrastructure.annotations: {EXTERNAL_DNS} is not allowed"),
    ),
    "a VirtualService takes a host": (
        virtual_service("rival.example"),
        *("virtual-services", "spec.hosts: rival.example is not one of the tenant's hosts"),
    ),
    "a VirtualService takes every host": (virtual_service("*"), "virtual-services", "spec.hosts: * is not"),
    "a VirtualService takes a Service": (virtual_service(RIVALS_SERVICE), "virtual-services", "spec.hosts"),
    "a VirtualService sends requests to pods": (
        to(RIVALS_SERVICE),
        *("virtual-services", "spec.http[]: a destination must be a Service in the namespace"),
    ),
    "a VirtualService sends TCP traffic to pods": (to(RIVALS_SERVICE, "tcp"), "virtual-services", "spec.tcp"),
    "a VirtualService sends TLS traffic to pods": (to(RIVALS_SERVICE, "tls"), "virtual-services", "spec.tls"),
    "a VirtualService copies requests to pods": (
        virtual_service("acme.test", http=[{"mirror": {"host": RIVALS_SERVICE}}]),
        *("virtual-services", "spec.http[]"),
    ),
    "a VirtualService copies requests to several pods": (
        virtual_service("acme.test", http=[{"mirrors": [{"destination": {"host": RIVALS_SERVICE}}]}]),
        *("virtual-services", "spec.http[]"),
    ),
    "a VirtualService uses foreign routes": (
        virtual_service("acme.test", http=[{"delegate": {"name": "web", "namespace": "tenant-rival"}}]),
        *("virtual-services", "spec.http[].delegate.namespace"),
    ),
    "a DestinationRule changes a Service": (
        destination_rule(RIVALS_SERVICE),
        *("destination-rules", f"spec.host: {RIVALS_SERVICE} is not one of the tenant's hosts"),
    ),
    "a DestinationRule changes every Service": (destination_rule("*.local"), "destination-rules", "*.local"),
    "a ServiceEntry takes a host": (service_entry("rival.example"), "service-entries", "spec.hosts: rival"),
    "a ServiceEntry is visible to all": (
        service_entry("acme.test", export_to=("*",)),
        *("service-entries", "spec.exportTo: must be ['.']"),
    ),
    "a ServiceEntry is visible by default": (
        service_entry("acme.test", export_to=()),
        *("service-entries", "spec.exportTo"),
    ),
    "a ServiceEntry takes an address": (
        service_entry("acme.test", addresses=["10.96.0.1"]),
        *("service-entries", "spec.addresses: must be in the tenant's egress networks; allowed: 203"),
    ),
    "a ServiceEntry names a pod": (
        service_entry("acme.test", endpoints=[{"address": "10.244.1.1"}]),
        *("service-entries", "spec.endpoints[].address: must be in"),
    ),
    "a ServiceEntry names a pod by its DNS name": (
        service_entry("acme.test", endpoints=[{"address": RIVALS_SERVICE}]),
        *("service-entries", "spec.endpoints[].address"),
    ),
    "a WorkloadEntry names a pod": (workload_entry("10.244.1.1"), "workload-entries", "spec.address: must"),
}

ORDINARY: dict[str, Attempt] = {
    "ListenerSet": listener_set("a.acme.example"),
    "TLSRoute": create(TLS_ROUTE, "attempt", spec={"hostnames": ["acme.test"]}),
    "TCPRoute of an own Gateway": plain_route(TCP_ROUTE),
    "UDPRoute of an own Gateway": plain_route(UDP_ROUTE, namespace="tenant-acme"),
    "VirtualService": virtual_service("acme.test", "web", http=[{"mirror": {"host": OWN_SERVICE}}]),
    "VirtualService with its routes elsewhere": virtual_service(
        "acme.test", http=[{"delegate": {"name": "a"}}]
    ),
    "destination without dots": to("web"),
    "destination with its full name": to(OWN_SERVICE, "tls"),
    "DestinationRule": destination_rule("web"),
    "ServiceEntry": service_entry("acme.test", endpoints=[{"address": "203.0.113.7"}]),
    "WorkloadEntry": workload_entry("203.0.113.7"),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_route_takes_no_traffic_of_others(attack: str, alice: Person) -> None:
    request, policy, message = ATTACKS[attack]
    refusal = alice.refusal(request)
    assert denied_by(policy) in refusal
    assert message in refusal


@pytest.mark.parametrize("use", ORDINARY)
def test_ordinary_route_is_allowed(use: str, alice: Person) -> None:
    assert alice.refusal(ORDINARY[use]) == ""


# Requests that send traffic to the address, by kind. The tenant of their namespace has egress to all
# addresses.
def _requests_to(address: str, family: str) -> dict[str, Attempt]:
    subsets = [{"addresses": [{"ip": address}], "ports": PORTS}]
    not_ready = [{"notReadyAddresses": [{"ip": address}], "ports": PORTS}]
    return {
        "endpoints": create(ENDPOINTS, "attempt", "tenant-rival", subsets=subsets),
        "endpoints that are not ready": create(ENDPOINTS, "attempt", "tenant-rival", subsets=not_ready),
        "endpointslices": create(
            *(ENDPOINT_SLICE, "attempt", "tenant-rival"),
            addressType=family,
            endpoints=[{"addresses": ["203.0.113.7" if family == "IPv4" else "2001:db8::7", address]}],
            ports=PORTS_OF_SLICE,
        ),
        "workload-entries": workload_entry(address, "tenant-rival"),
    }


@pytest.mark.parametrize("kind", _requests_to("", "IPv4"))
@pytest.mark.parametrize("address", ["10.244.1.1", "10.96.0.1"], ids=["a pod", "a Service"])
def test_broad_egress_does_not_open_the_networks_of_the_cluster(
    address: str, kind: str, mallory: Person
) -> None:
    refusal = mallory.refusal(_requests_to(address, "IPv4")[kind])
    assert denied_by(kind.partition(" ")[0]) in refusal
    assert "must not be in a network of the cluster, such as 10.96.0.0/16, 10.244.0.0/16" in refusal


@pytest.mark.parametrize(("address", "family"), [("203.0.113.9", "IPv4"), ("2001:db8::9", "IPv6")])
def test_broad_egress_opens_addresses_outside_the_cluster(address: str, family: str, mallory: Person) -> None:
    refusals = {kind: mallory.refusal(request) for kind, request in _requests_to(address, family).items()}
    assert refusals == dict.fromkeys(refusals, "")


ANNOTATED: dict[str, tuple[Kind, Attempt]] = {
    "Service": (SERVICE, service()),
    "Ingress": (INGRESS, ingress("a.acme.example")),
    "Gateway": (GATEWAY, gateway("a.acme.example")),
    "route": (HTTP_ROUTE, route("a.acme.example")),
    "ListenerSet": (LISTENER_SET, listener_set("a.acme.example")),
    "route without hosts": (TCP_ROUTE, plain_route(TCP_ROUTE)),
    "VirtualService": (VIRTUAL_SERVICE, virtual_service("acme.test")),
}


@pytest.mark.parametrize("kind", ANNOTATED)
def test_update_of_annotations_alone_is_checked(kind: str, alice: Person, administrator: Person) -> None:
    resource, creation = ANNOTATED[kind]
    path = resource.path("tenant-acme", "attempt")

    def annotate(**annotations: str) -> Attempt:
        body = {"metadata": {"annotations": annotations}}
        return Attempt("PATCH", path, body, "application/merge-patch+json")

    alice.do(creation)
    try:
        for key in (EXTERNAL_DNS, "nginx.ingress.kubernetes.io/auth-url", "metallb.io/allow-shared-ip"):
            assert denied_by("annotations") in alice.refusal(annotate(**{key: "rival.example"}))
        # A controller can set such an annotation. Afterwards, users can still change other annotations.
        administrator.do(annotate(**{"metallb.io/ip-allocated-from-pool": "public"}))
        assert alice.refusal(annotate(note="a")) == ""
        change = annotate(**{"metallb.io/ip-allocated-from-pool": "private"})
        assert denied_by("annotations") in alice.refusal(change)
    finally:
        alice.do(delete(resource, "attempt"))
