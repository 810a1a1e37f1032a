"""The hosts that the specs of Ingresses, gateways and routes contain."""

import pytest

from cluster.used_hosts import named_hosts
from tenancy.base.manifest import Manifest


@pytest.mark.parametrize(
    ("spec", "hosts"),
    [
        ({"rules": [{"host": "a.test"}, {}], "tls": [{"hosts": ["b.test"]}, {}]}, {"a.test", "b.test"}),
        ({"listeners": [{"hostname": "*.a.test"}, {"port": 80}]}, {"*.a.test"}),
        ({"hostnames": ["a.test", "b.test"]}, {"a.test", "b.test"}),
        # A Gateway and a VirtualService of Istio.
        ({"servers": [{"hosts": ["a.test", "tenant-x/b.test", "./c.test"]}]}, {"a.test", "b.test", "c.test"}),
        ({"hosts": ["a.test", "*"]}, {"a.test"}),
        ({}, set()),
        (None, set()),
    ],
)
def test_every_kind_of_route_names_its_hosts(spec: Manifest | None, hosts: set[str]) -> None:
    assert named_hosts({"spec": spec}) == hosts
