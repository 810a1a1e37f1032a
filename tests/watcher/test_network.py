"""The allowed traffic of tenants, computed from the NetworkPolicies in the cluster."""

from collections.abc import Iterator

import pytest

from tenancy.base.kinds import NAMESPACE, NETWORK_POLICY
from tenancy.base.labels import SHARED_LABEL
from tenancy.reachability import Endpoint, PodNetwork, Port
from tests.platform import Platform, tenant_manifest

# Namespaces that belong to no tenant. They do not have to exist in the cluster.
NEIGHBOURS = {
    name: {"kubernetes.io/metadata.name": name}
    for name in ("ingress-nginx", "monitoring", "unrelated", "platform-shared")
}
NEIGHBOURS["platform-shared"][SHARED_LABEL] = "true"

ENDPOINTS = {
    "closed-one": Endpoint("10.1.0.1", "tenant-closed-one", {"app": "web"}),
    "closed-two": Endpoint("10.1.0.2", "tenant-closed-two", {"app": "web"}),
    "open": Endpoint("10.2.0.1", "tenant-open", {"app": "web"}),
    "shared": Endpoint("10.3.0.1", "platform-shared"),
    "dns": Endpoint("10.4.0.1", "kube-system", {"k8s-app": "kube-dns"}),
    "system": Endpoint("10.4.0.2", "kube-system"),
    "false-dns": Endpoint("10.5.0.2", "unrelated", {"k8s-app": "kube-dns"}),
    "unrelated": Endpoint("10.5.0.1", "unrelated", {"app": "web"}),
    "ingress": Endpoint("10.6.0.1", "ingress-nginx"),
    "metrics": Endpoint("10.7.0.1", "monitoring"),
    "partner": Endpoint("203.0.113.10"),
    "rival": Endpoint("203.0.113.200"),
    "customer": Endpoint("198.51.100.9"),
    "elsewhere": Endpoint("192.0.2.1"),
}
TENANTS = ("closed-one", "closed-two", "open")

# The text in a table cell for each set of open ports.
PORTS = (Port(53, "UDP"), Port(53), Port(80), Port(443), Port(8080), Port(8085), Port(8090))
CELLS = {PORTS: "all", (): "-", PORTS[:2]: "dns", PORTS[3:4]: "443", PORTS[4:6]: "8080-8085"}

FROM_TENANTS = """
            closed-one closed-two open
closed-one  all        all        -
closed-two  all        all        -
open        -          -          all
shared      all        all        all
dns         dns        dns        dns
system      -          -          -
false-dns   -          -          -
unrelated   -          -          -
ingress     -          -          -
metrics     -          -          -
partner     -          -          443
rival       -          -          -
customer    -          -          -
elsewhere   -          -          -
"""

INTO_TENANTS = """
            closed-one closed-two open
closed-one  all        all        -
closed-two  all        all        -
open        -          -          all
shared      -          -          -
dns         -          -          -
system      -          -          -
false-dns   -          -          -
unrelated   -          -          -
ingress     all        all        all
metrics     all        all        all
partner     -          -          -
rival       -          -          -
customer    -          -          8080-8085
elsewhere   -          -          -
"""

# Each of these policies allows a part of the traffic in the tables.
ALLOW_POLICIES = (
    "allow-intra-tenant",
    "allow-dns",
    "allow-platform-shared",
    "allow-ingress-controller",
    "allow-monitoring",
    "allow-egress",
    "allow-ingress",
)
# Each of these policies alone is enough to deny all other traffic.
DENY_POLICIES = ("default-deny-all", "tenant-isolation")


@pytest.fixture(scope="module")
def network(running_platform: Platform) -> Iterator[PodNetwork]:
    """The live NetworkPolicies and namespaces, which include two applied tenants."""
    running_platform.ensure_started()
    closed = tenant_manifest("closed", namespaces=[{"name": "one"}, {"name": "two"}])
    opened = tenant_manifest(
        "open",
        network={
            "egress": [
                {"cidr": "203.0.113.0/24", "except": ["203.0.113.128/25"], "ports": [{"port": 443}]},
            ],
            "ingress": [{"cidr": "198.51.100.0/24", "ports": [{"port": 8080, "endPort": 8085}]}],
        },
    )
    for tenant in (closed, opened):
        running_platform.apply(tenant)
    for tenant in (closed, opened):
        running_platform.await_active(tenant)
    yield live_network(running_platform)
    running_platform.verify_and_abandon((closed, opened))


def live_network(platform: Platform) -> PodNetwork:
    policies, namespaces = (platform.admin.list(kind)[0] for kind in (NETWORK_POLICY, NAMESPACE))
    network = PodNetwork.from_manifests(policies, namespaces)
    return PodNetwork(network.policies, {**NEIGHBOURS, **network.namespaces})


def table(network: PodNetwork, *, is_into: bool, tenants: tuple[str, ...] = TENANTS) -> str:
    """A text table of the open ports between each endpoint (row) and the pod of each tenant (column)."""
    rows = [("", *tenants)]
    for name, endpoint in ENDPOINTS.items():
        cells = []
        for tenant in tenants:
            ends = (endpoint, ENDPOINTS[tenant]) if is_into else (ENDPOINTS[tenant], endpoint)
            open_ports = tuple(port for port in PORTS if network.allows(*ends, port))
            cells.append(CELLS.get(open_ports) or " ".join(map(str, open_ports)))
        rows.append((name, *cells))
    lines = (f"{name:<12}" + "".join(f"{cell:<11}" for cell in cells) for name, *cells in rows)
    return "\n" + "\n".join(line.rstrip() for line in lines) + "\n"


def tables(network: PodNetwork) -> tuple[str, str]:
    return table(network, is_into=False), table(network, is_into=True)


def test_tenants_reach_only_the_intended_endpoints(network: PodNetwork) -> None:
    assert table(network, is_into=False) == FROM_TENANTS


def test_only_the_intended_endpoints_reach_tenants(network: PodNetwork) -> None:
    assert table(network, is_into=True) == INTO_TENANTS


def test_every_policy_of_a_tenant_is_tested(network: PodNetwork) -> None:
    namespaces = {ENDPOINTS[name].namespace for name in TENANTS}
    metadata = [
        policy["metadata"] for policy in network.policies if policy["metadata"]["namespace"] in namespaces
    ]
    assert {policy["name"] for policy in metadata} == {*ALLOW_POLICIES, *DENY_POLICIES}


@pytest.mark.parametrize("policy", ALLOW_POLICIES)
def test_without_an_allow_policy_less_traffic_is_allowed(network: PodNetwork, policy: str) -> None:
    reduced = tables(network.without_policy(policy))
    assert reduced != (FROM_TENANTS, INTO_TENANTS)
    # If a policy is missing, the other policies must not allow more traffic.
    for cell, intended_cell in zip(
        "".join(reduced).split(), (FROM_TENANTS + INTO_TENANTS).split(), strict=True
    ):
        assert cell in (intended_cell, "-")


@pytest.mark.parametrize("policy", DENY_POLICIES)
def test_either_deny_policy_is_enough(network: PodNetwork, policy: str) -> None:
    assert tables(network.without_policy(policy)) == (FROM_TENANTS, INTO_TENANTS)


def test_without_policies_everything_is_open(network: PodNetwork) -> None:
    bare = PodNetwork((), network.namespaces)
    assert {cell for cell in "".join(tables(bare)).split() if cell not in ENDPOINTS} == {"all"}


def test_tenant_that_can_reach_every_address_reaches_no_other_tenant(
    network: PodNetwork, running_platform: Platform
) -> None:
    """The result is the same for network plugins that match pods by IP address."""
    loud = tenant_manifest("loud", network={"egress": [{"cidr": "0.0.0.0/0"}, {"cidr": "::/0"}]})
    running_platform.apply(loud)
    try:
        running_platform.await_active(loud)
        live = live_network(running_platform)
    finally:
        running_platform.abandon(loud)
    pod = Endpoint("10.8.0.1", "tenant-loud")
    for port in PORTS:
        assert [name for name, target in ENDPOINTS.items() if not live.allows(pod, target, port)] == [
            *TENANTS
        ]
        assert not any(live.allows(ENDPOINTS[name], pod, port) for name in TENANTS)
    assert tables(live) == tables(network)
