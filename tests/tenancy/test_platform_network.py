"""The NetworkPolicies in the watcher's namespace."""

from typing import Any

import pytest

from tenancy.base.platform_names import HTTP_PORT, SYSTEM_NAMESPACE
from tenancy.platform.namespaces import platform_network_policies
from tenancy.platform.settings import PlatformSettings


def policies(**settings: Any) -> dict[str, Any]:
    """The specs of the NetworkPolicies in the watcher's namespace, keyed by name."""
    return {
        manifest["metadata"]["name"]: manifest["spec"]
        for manifest in platform_network_policies(PlatformSettings.model_validate(settings))
        if manifest["metadata"]["namespace"] == SYSTEM_NAMESPACE
    }


def egress_ports(**settings: Any) -> list[int]:
    [rule] = policies(**settings)["allow-api-server-and-backend"]["egress"]
    return [port["port"] for port in rule["ports"]]


def test_only_the_http_port_of_the_watcher_is_open() -> None:
    specs = policies()
    rules = [rule for spec in specs.values() for rule in spec["ingress"]]
    assert rules == [{"ports": [{"protocol": "TCP", "port": HTTP_PORT}]}]
    assert specs["default-deny-all"]["podSelector"] == {}
    assert all(spec["policyTypes"] == ["Ingress", "Egress"] for spec in specs.values())


def test_watcher_connects_only_to_dns_the_api_server_and_the_backend() -> None:
    names = [name for name, spec in policies().items() if spec["egress"]]
    assert names == ["allow-dns", "allow-api-server-and-backend"]
    assert egress_ports() == [443, 6443]
    assert egress_ports(egressPorts=[16443]) == [16443]


@pytest.mark.parametrize(
    ("backend", "port"),
    [
        ("file:///var/lib/tenancy", None),
        ("s3://bucket?region=eu", None),
        ("s3://bucket?endpoint=minio.example:9000&disableSSL=true", 9000),
        ("s3://bucket?endpoint=http://minio.example:9000", 9000),
        ("postgres://db.example/states", 5432),
        ("postgres://db.example:6432/states", 6432),
    ],
)
def test_port_of_the_backend_is_open(backend: str, port: int | None) -> None:
    assert egress_ports(backend=backend) == sorted(filter(None, [443, 6443, port]))
