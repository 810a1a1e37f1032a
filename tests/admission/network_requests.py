"""Requests that create a tenant's Services, Ingresses, Gateways, routes, NetworkPolicies and endpoints."""

from typing import Any

from tenancy.base.kinds import NETWORK_POLICY, SERVICE
from tests.admission.people import ENDPOINT_SLICE, ENDPOINTS, GATEWAY, HTTP_ROUTE, INGRESS, Attempt, create

PORTS = [{"port": 80}]
BACKEND = {"service": {"name": "web", "port": {"number": 80}}}


def service(**spec: Any) -> Attempt:
    return create(SERVICE, "attempt", spec={"ports": PORTS, **spec})


def ingress(*hosts: str, annotations: dict[str, str] | None = None, **spec: Any) -> Attempt:
    paths = [{"path": "/", "pathType": "Prefix", "backend": BACKEND}]
    rules = [{"http": {"paths": paths}, **({"host": host} if host else {})} for host in hosts]
    spec = {"ingressClassName": "public", "rules": rules, **spec}
    # An Ingress can set its class in a field or in an annotation. It cannot use both.
    spec = {key: value for key, value in spec.items() if value is not None}
    return create(INGRESS, "attempt", annotations=annotations or {}, spec=spec)


def gateway(hostname: str = "", gateway_class: str = "public") -> Attempt:
    listener = {"name": "web", "port": 80, "protocol": "HTTP"} | ({"hostname": hostname} if hostname else {})
    return create(GATEWAY, "attempt", spec={"gatewayClassName": gateway_class, "listeners": [listener]})


def route(*hostnames: str) -> Attempt:
    return create(HTTP_ROUTE, "attempt", spec={"hostnames": list(hostnames)})


def network_policy(**spec: Any) -> Attempt:
    return create(NETWORK_POLICY, "attempt", spec={"podSelector": {}, **spec})


def ingress_from(*peers: Any) -> Attempt:
    return network_policy(ingress=[{"from": list(peers), "ports": PORTS}])


def egress_to(*peers: Any) -> Attempt:
    return network_policy(egress=[{"to": list(peers)}], policyTypes=["Egress"])


def block(cidr: str) -> dict[str, Any]:
    return {"ipBlock": {"cidr": cidr}}


def endpoints(address: str) -> Attempt:
    return create(ENDPOINTS, "attempt", subsets=[{"addresses": [{"ip": address}], "ports": PORTS}])


def unready_endpoints(address: str) -> Attempt:
    return create(ENDPOINTS, "attempt", subsets=[{"notReadyAddresses": [{"ip": address}], "ports": PORTS}])


def endpoint_slice(address: str, kind: str = "IPv4") -> Attempt:
    return create(ENDPOINT_SLICE, "attempt", addressType=kind, endpoints=[{"addresses": [address]}])
