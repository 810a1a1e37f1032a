"""A tenant's Services, hosts, NetworkPolicies and endpoints cannot break or bypass its isolation."""

from typing import Any

import pytest

from tenancy.base.kinds import NETWORK_POLICY, SERVICE
from tests.admission.network_requests import (
    BACKEND,
    block,
    egress_to,
    endpoint_slice,
    endpoints,
    gateway,
    ingress,
    ingress_from,
    network_policy,
    route,
    service,
    unready_endpoints,
)
from tests.admission.people import INGRESS, Attempt, Person, change, denied_by

OWN = {"namespaceSelector": {"matchLabels": {"tenant.platform.ai/name": "acme"}}}
RIVALS = {"namespaceSelector": {"matchLabels": {"tenant.platform.ai/name": "rival"}}}
ALL_PODS: dict[str, Any] = {"podSelector": {}}

# Each value is a request, the policy that rejects it, and a part of the error message.
DENIED: dict[str, tuple[Attempt, str, str]] = {
    "node port": (service(type="NodePort"), "services", "spec.type: NodePort is never allowed"),
    "load balancer with node ports": (
        service(type="LoadBalancer"),
        *("services", "spec.allocateLoadBalancerNodePorts: must be false"),
    ),
    "load balancer that names a node port": (
        service(
            type="LoadBalancer",
            allocateLoadBalancerNodePorts=False,
            ports=[{"port": 80, "nodePort": 30080}],
        ),
        *("services", "no port may set a nodePort"),
    ),
    "external address": (service(externalIPs=["192.0.2.1"]), "services", "spec.externalIPs: not allowed"),
    "service type": (
        service(type="ExternalName", externalName="evil.test", ports=[]),
        *("services", "spec.type: 'ExternalName' is not allowed for this tenant; allowed: ClusterIP, Load"),
    ),
    "external name inside the cluster": (
        service(type="ExternalName", externalName="db.tenant-rival.svc.cluster.local", ports=[]),
        *("services", "spec.externalName: must not be a name inside the cluster"),
    ),
    "ingress class": (
        ingress("a.acme.example", ingressClassName="internal"),
        *("ingresses", "spec.ingressClassName: 'internal' is not allowed for this tenant; allowed: public"),
    ),
    "ingress class by annotation": (
        ingress(
            "a.acme.example",
            annotations={"kubernetes.io/ingress.class": "internal"},
            ingressClassName=None,
        ),
        *("ingresses", "'internal' is not allowed for this tenant"),
    ),
    "host of another": (
        ingress("a.acme.example", "rival.example"),
        *("ingresses", "spec.rules[].host: rival.example is not one of the tenant's hosts, or is a wildcard"),
    ),
    "host that ends the same": (
        ingress("a.evilacme.example"),
        "ingresses",
        "allowed: *.acme.example, acme.test",
    ),
    "domain itself": (ingress("acme.example"), "ingresses", "spec.rules[].host: acme.example is"),
    "name below a host": (ingress("www.acme.test"), "ingresses", "spec.rules[].host: www.acme.test is"),
    "wildcard": (ingress("*.acme.example"), "ingresses", "spec.rules[].host: *.acme.example is not one of"),
    "rule without host": (ingress(""), "ingresses", "spec.rules[].host: required"),
    "default backend": (
        ingress(defaultBackend=BACKEND),
        *("ingresses", "spec.defaultBackend: not allowed, because it matches every host"),
    ),
    "host in TLS": (
        ingress("a.acme.example", tls=[{"hosts": ["rival.example"], "secretName": "tls"}]),
        *("ingresses", "spec.tls[].hosts: a host is not one of the tenant's hosts, or is a wildcard"),
    ),
    "host in an alias": (
        ingress("a.acme.example", annotations={"haproxy-ingress.github.io/server-alias": "a.test"}),
        *("ingresses", "metadata.annotations: server-alias"),
    ),
    "host in a DNS annotation": (
        ingress("a.acme.example", annotations={"external-dns.alpha.kubernetes.io/hostname": "rival.example"}),
        *("annotations", "metadata.annotations: external-dns.alpha.kubernetes.io/hostname is not allowed"),
    ),
    "gateway class": (
        gateway("a.acme.example", "internal"),
        *("gateways", "spec.gatewayClassName: 'internal' is not allowed"),
    ),
    "gateway's host": (gateway("rival.example"), "gateways", "spec.listeners[].hostname: rival.example is"),
    "gateway for every host": (gateway(), "gateways", "spec.listeners[].hostname: required"),
    "route's host": (route("rival.example"), "routes", "spec.hostnames: rival.example is"),
    "route for every host": (route(), "routes", "spec.hostnames: must list the hosts"),
    "everybody in": (ingress_from(), "network-policies", "spec.ingress[].from: must list peers"),
    "rule that names nothing": (network_policy(ingress=[{}]), "network-policies", "must list peers"),
    "all namespaces in": (
        ingress_from({"namespaceSelector": {}}),
        *("network-policies", "a namespaceSelector with matchLabels tenant.platform.ai/name: acme"),
    ),
    "a neighbour in": (
        ingress_from(ALL_PODS, RIVALS),
        "network-policies",
        "spec.ingress[].from[]: a peer must be",
    ),
    "a neighbour's pods in": (
        ingress_from({**RIVALS, **ALL_PODS}),
        "network-policies",
        "spec.ingress[].from[]",
    ),
    "a network in": (ingress_from(block("203.0.113.0/24")), "network-policies", "spec.ingress[].from[]"),
    "out to a network of which one port is open": (
        egress_to(block("198.51.100.0/24")),
        *("network-policies", "must be in the tenant's egress networks; allowed: 203"),
    ),
    "out to everywhere": (egress_to(), "network-policies", "spec.egress[].to: must list peers"),
    "out to a neighbour": (egress_to(RIVALS), "network-policies", "spec.egress[].to[]: a peer must be"),
    "out to other networks": (
        egress_to(block("203.0.112.0/23")),
        *(
            "network-policies",
            "spec.egress[].to[].ipBlock: must be in the tenant's egress networks; allowed: 203",
        ),
    ),
    "endpoint": (endpoints("10.96.0.1"), "endpoints", "subsets[].addresses: must be in"),
    "endpoint that is not ready": (unready_endpoints("10.96.0.1"), "endpoints", "allowed: 203.0.113.0/24"),
    "endpoint slice": (endpoint_slice("10.96.0.1"), "endpointslices", "endpoints[].addresses: must be"),
    "endpoint by name": (endpoint_slice("evil.test", "FQDN"), "endpointslices", "endpoints[].addresses"),
}

ALLOWED: dict[str, Attempt] = {
    "service": service(),
    "load balancer without node ports": service(type="LoadBalancer", allocateLoadBalancerNodePorts=False),
    "name below the domain": ingress("a.acme.example"),
    "name far below the domain": ingress("a.b.c.acme.example"),
    "host itself, with TLS": ingress("acme.test", tls=[{"hosts": ["acme.test"], "secretName": "tls"}]),
    "gateway": gateway("a.acme.example"),
    "route": route("a.acme.example", "acme.test"),
    "own pods in": ingress_from({"podSelector": {"matchLabels": {"app": "web"}}}),
    "own namespaces in": ingress_from(OWN, {**OWN, **ALL_PODS}),
    "own namespaces out": egress_to(OWN),
    "out to the own network": egress_to(block("203.0.113.128/25")),
    "policy without rules": network_policy(policyTypes=["Ingress", "Egress"]),
    "endpoint": endpoints("203.0.113.7"),
    "endpoint slice": endpoint_slice("203.0.113.7"),
}


@pytest.mark.parametrize("attempt", DENIED)
def test_object_that_breaks_isolation_is_refused(attempt: str, alice: Person) -> None:
    request, policy, message = DENIED[attempt]
    refusal = alice.refusal(request)
    assert denied_by(policy) in refusal
    assert message in refusal


@pytest.mark.parametrize("attempt", ALLOWED)
def test_object_that_keeps_isolation_is_allowed(attempt: str, alice: Person) -> None:
    assert alice.refusal(ALLOWED[attempt]) == ""


@pytest.mark.parametrize(
    ("creation", "edit", "policy"),
    [
        pytest.param(
            service(),
            change(SERVICE, "attempt", {"spec": {"type": "NodePort"}}),
            "services",
            id="service",
        ),
        pytest.param(
            ingress("acme.test"),
            change(
                INGRESS, "attempt", {"metadata": {"annotations": {"kubernetes.io/ingress.class": "internal"}}}
            ),
            "ingresses",
            id="ingress",
        ),
        pytest.param(
            ingress_from(OWN),
            change(NETWORK_POLICY, "attempt", {"spec": {"ingress": [{}]}}),
            "network-policies",
            id="network policy",
        ),
    ],
)
def test_update_gets_nothing_that_a_create_does_not(
    creation: Attempt, edit: Attempt, policy: str, alice: Person
) -> None:
    label = Attempt(edit.method, edit.path, {"metadata": {"labels": {"a": "b"}}}, edit.content_type)
    alice.do(creation)
    try:
        assert denied_by(policy) in alice.refusal(edit)
        assert alice.refusal(label) == ""
    finally:
        alice.do(creation.deletion)
