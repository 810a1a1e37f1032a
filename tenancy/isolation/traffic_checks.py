"""Checks that the Services, Ingresses and Gateways of a tenant can't use hosts and addresses of others."""

from typing import Any, Final

from tenancy.isolation.check import (
    PROBE,
    RBAC,
    Check,
    Layer,
    Level,
    NotApplicable,
    Protection,
    Request,
    Role,
    policy,
)
from tenancy.isolation.requests import GATEWAY, HTTP_ROUTE, create, ingress, service
from tenancy.isolation.target import Target
from tenancy.spec.settings import ServiceType

_SERVICES: Final = policy("services")
# The shipped plans allow no node ports.
_NODE_PORTS: Final = Protection(Layer.QUOTA, "tenant-quota-objects")
_INGRESSES: Final = policy("ingresses")
_ANNOTATIONS: Final = policy("annotations")
_NGINX: Final = "nginx.ingress.kubernetes.io"
_FOREIGN_HOST: Final = f"{PROBE}.invalid"


def _load_balancer(target: Target, **spec: Any) -> Request:
    allowed = target.settings.service_types
    if allowed is not None and ServiceType.LOAD_BALANCER not in allowed:
        raise NotApplicable("serviceTypes of the tenant does not contain LoadBalancer")
    return service(target, type="LoadBalancer", **{"allocateLoadBalancerNodePorts": False, **spec})


def _other_service_type(target: Target) -> Request:
    allowed = target.settings.service_types
    target.require_list("serviceTypes", allowed)
    specs: dict[ServiceType, dict[str, Any]] = {
        ServiceType.LOAD_BALANCER: {"allocateLoadBalancerNodePorts": False},
        ServiceType.EXTERNAL_NAME: {"externalName": _FOREIGN_HOST},
    }
    for kind, spec in specs.items():
        if kind not in (allowed or ()):
            return service(target, type=kind.value, **spec)
    raise NotApplicable("serviceTypes of the tenant contains every type")


def _other_ingress_class(target: Target) -> Request:
    target.require_list("ingressClasses", target.settings.ingress_classes)
    return ingress(target, ingressClassName=PROBE)


def _default_backend(target: Target) -> Request:
    return ingress(target, defaultBackend={"service": {"name": PROBE, "port": {"number": 80}}})


def _gateway(target: Target) -> Request:
    listener = {"name": "web", "port": 80, "protocol": "HTTP", "hostname": _FOREIGN_HOST}
    return create(target, GATEWAY, spec={"gatewayClassName": PROBE, "listeners": [listener]})


TRAFFIC_CHECKS: Final = (
    Check(
        "service-node-port",
        "A Service takes a port of all nodes",
        Level.BASIC,
        Role.ADMIN,
        (_SERVICES, _NODE_PORTS),
        lambda target: service(target, type="NodePort"),
    ),
    Check(
        "service-external-ip",
        "A Service takes the traffic of an external address",
        Level.HOSTILE,
        Role.OPERATOR,
        (_SERVICES,),
        lambda target: service(target, externalIPs=["192.0.2.1"]),
    ),
    Check(
        "service-external-name",
        "A Service resolves names of other tenants",
        Level.HOSTILE,
        Role.ADMIN,
        (_SERVICES,),
        lambda target: service(
            target, type="ExternalName", externalName=f"{PROBE}.kube-system.svc.cluster.local"
        ),
    ),
    Check(
        "service-type",
        "A Service has a type that is not allowed",
        Level.SELF_SERVICE,
        Role.ADMIN,
        (_SERVICES,),
        _other_service_type,
    ),
    Check(
        "load-balancer-address",
        "A load balancer takes an address",
        Level.HOSTILE,
        Role.ADMIN,
        (_SERVICES,),
        lambda target: service(target, loadBalancerIP="192.0.2.1"),
    ),
    Check(
        "load-balancer-class",
        "A Service uses a load balancer that is not allowed",
        Level.HOSTILE,
        Role.ADMIN,
        (_SERVICES,),
        lambda target: _load_balancer(target, loadBalancerClass=f"{PROBE}.invalid/class"),
    ),
    Check(
        "load-balancer-node-ports",
        "A load balancer takes ports of all nodes",
        Level.HOSTILE,
        Role.ADMIN,
        (_SERVICES, _NODE_PORTS),
        lambda target: _load_balancer(target, allocateLoadBalancerNodePorts=True),
    ),
    Check(
        "annotation-address",
        "An annotation shares the address of another tenant",
        Level.HOSTILE,
        Role.ADMIN,
        (_ANNOTATIONS,),
        lambda target: service(target, {"metallb.universe.tf/allow-shared-ip": PROBE}),
    ),
    Check(
        "annotation-dns",
        "An annotation claims a DNS name",
        Level.HOSTILE,
        Role.OPERATOR,
        (_ANNOTATIONS,),
        lambda target: service(target, {"external-dns.alpha.kubernetes.io/hostname": _FOREIGN_HOST}),
    ),
    Check(
        "annotation-auth",
        "An annotation sends requests to another server",
        Level.HOSTILE,
        Role.ADMIN,
        (_ANNOTATIONS, _INGRESSES),
        lambda target: ingress(target, annotations={f"{_NGINX}/auth-url": f"https://{_FOREIGN_HOST}"}),
    ),
    Check(
        "ingress-snippet",
        "An annotation adds configuration to the ingress controller",
        Level.HOSTILE,
        Role.ADMIN,
        (_ANNOTATIONS, _INGRESSES),
        lambda target: ingress(target, annotations={f"{_NGINX}/configuration-snippet": "return 200;"}),
    ),
    Check(
        "ingress-host",
        "An Ingress takes a host of another tenant",
        Level.SELF_SERVICE,
        Role.ADMIN,
        (_INGRESSES,),
        lambda target: ingress(target, _FOREIGN_HOST),
    ),
    Check(
        "ingress-wildcard",
        "An Ingress takes all subdomains of a host",
        Level.SELF_SERVICE,
        Role.ADMIN,
        (_INGRESSES,),
        lambda target: ingress(target, f"*.{_FOREIGN_HOST}"),
    ),
    Check(
        "ingress-default",
        "An Ingress takes every host",
        Level.SELF_SERVICE,
        Role.ADMIN,
        (_INGRESSES,),
        _default_backend,
    ),
    Check(
        "ingress-tls",
        "An Ingress serves the certificate of another tenant's host",
        Level.SELF_SERVICE,
        Role.ADMIN,
        (_INGRESSES,),
        lambda target: ingress(target, tls=[{"hosts": [_FOREIGN_HOST]}]),
    ),
    Check(
        "ingress-class",
        "An Ingress uses an ingress class that is not allowed",
        Level.SELF_SERVICE,
        Role.ADMIN,
        (_INGRESSES,),
        _other_ingress_class,
    ),
    Check(
        "gateway-host",
        "A Gateway takes a host of another tenant",
        Level.SELF_SERVICE,
        Role.ADMIN,
        (RBAC, policy("gateways")),
        _gateway,
    ),
    Check(
        "route-host",
        "A route takes a host of another tenant",
        Level.SELF_SERVICE,
        Role.ADMIN,
        (RBAC, policy("routes")),
        lambda target: create(target, HTTP_ROUTE, spec={"hostnames": [_FOREIGN_HOST]}),
    ),
)
