"""With a real CoreDNS, the pods of a tenant resolve only some names.

These are the names in the tenant's namespaces and in shared namespaces. Pods of the platform resolve all
names.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import dns.reversename
import pytest

from cluster.client import Cluster
from embedded.controlplane.plane import ControlPlane
from tenancy.base.kinds import NAMESPACE, SERVICE, Kind
from tests.integrations.coredns import OUTSIDE, Answer, Dns, running_coredns
from tests.integrations.pods import POD, allow_pods, pod
from tests.waiting import eventually

SLICE = Kind("discovery.k8s.io/v1", "EndpointSlice", "endpointslices")
# One list per tenant. The namespaces of tenant `a-b` start with the prefix of tenant `a`. The tenants have
# adopted the namespaces `payments` and `billing`.
NAMESPACE_GROUPS = [
    ["tenant-a", "tenant-a-x"],
    ["tenant-a-b", "tenant-a-b-x"],
    ["tenant-b"],
    ["tenant-c", "payments"],
    ["billing"],
]
SHARED = {"default", "kube-system", "platform-shared"}
EVERYTHING = {*(name for group in NAMESPACE_GROUPS for name in group), *SHARED, "monitoring"}
# The namespaces whose names a pod can resolve, keyed by the namespace of the pod.
VISIBLE = {
    "tenant-a": {"tenant-a", "tenant-a-x"} | SHARED,
    "tenant-a-x": {"tenant-a", "tenant-a-x"} | SHARED,
    "tenant-a-b": {"tenant-a-b", "tenant-a-b-x"} | SHARED,
    "tenant-a-b-x": {"tenant-a-b", "tenant-a-b-x"} | SHARED,
    "tenant-b": {"tenant-b"} | SHARED,
    "tenant-c": {"tenant-c", "payments"} | SHARED,
    "payments": {"tenant-c", "payments"} | SHARED,
    "billing": {"billing"} | SHARED,
    "kube-system": EVERYTHING,
    "default": EVERYTHING,
    "platform-shared": EVERYTHING,
    "monitoring": EVERYTHING,
}
# The IP address of the pod in each namespace.
ADDRESS = {namespace: f"127.0.0.{number}" for number, namespace in enumerate(VISIBLE, start=2)}
UNKNOWN = "127.0.0.99"
ABSENT = Answer("NXDOMAIN")
FORMS = [
    ("web.{}.svc.cluster.local.", "A"),
    ("WEB.{}.SVC.cluster.LOCAL.", "A"),
    ("web.{}.svc.cluster.local.", "ANY"),
    ("web.{}.svc.cluster.local.", "HTTPS"),
    ("_http._tcp.web.{}.svc.cluster.local.", "SRV"),
    ("db.{}.svc.cluster.local.", "A"),
    ("db-0.db.{}.svc.cluster.local.", "A"),
    ("127-0-0-2.{}.pod.cluster.local.", "A"),
    ("*.{}.svc.cluster.local.", "A"),
    ("{}.svc.cluster.local.", "A"),
]


@pytest.fixture(scope="module")
def admin(control_plane: ControlPlane) -> Cluster:
    """A cluster with a pod and two services in each namespace."""
    cluster = Cluster.connect(control_plane.kubeconfig)
    for number, namespace in enumerate(VISIBLE, start=1):
        add_namespace(cluster, namespace)
        add_pod(cluster, namespace, ADDRESS[namespace])
        add(cluster, SERVICE, namespace, "web", spec={"ports": [{"name": "http", "port": 80}]})
        headless = {"clusterIP": "None", "ports": [{"name": "sql", "port": 5432}]}
        add(cluster, SERVICE, namespace, "db", spec=headless)
        add(
            cluster,
            SLICE,
            namespace,
            "db",
            labels={"kubernetes.io/service-name": "db"},
            addressType="IPv4",
            endpoints=[{"addresses": [f"10.1.0.{number}"], "hostname": "db-0"}],
            ports=[{"name": "sql", "port": 5432}],
        )
    return cluster


@pytest.fixture(scope="module")
def dns_server(
    admin: Cluster,  # noqa: ARG001 - the namespaces must exist before the first query
    control_plane: ControlPlane,
    coredns_binary: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Dns]:
    folder = tmp_path_factory.mktemp("coredns")
    with running_coredns(coredns_binary, control_plane.kubeconfig, NAMESPACE_GROUPS, folder) as running:
        yield running


def add(cluster: Cluster, kind: Kind, namespace: str, name: str, labels: Any = None, **body: Any) -> None:
    metadata = {"name": name, "namespace": namespace, "labels": labels or {}}
    cluster.create(kind, {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **body})


def add_namespace(cluster: Cluster, name: str) -> None:
    cluster.apply({"apiVersion": "v1", "kind": NAMESPACE.kind, "metadata": {"name": name}})
    allow_pods(cluster, name)


def add_pod(cluster: Cluster, namespace: str, address: str) -> None:
    name = cluster.create(POD, pod(namespace))["metadata"]["name"]
    status = {"status": {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}}
    cluster.patch(POD, name, status, namespace=namespace, subresource="status")


def name_in(namespace: str) -> str:
    return f"web.{namespace}.svc.cluster.local."


def address_in(cluster: Cluster, namespace: str) -> str:
    service = cluster.get(SERVICE, "web", namespace)
    assert service
    address: str = service["spec"]["clusterIP"]
    return address


@pytest.mark.parametrize("protocol", ["udp", "tcp"])
@pytest.mark.parametrize("client", VISIBLE)
def test_each_finds_what_it_may_and_nothing_else(
    dns_server: Dns, admin: Cluster, client: str, protocol: str
) -> None:
    answers = {
        target: dns_server.ask(ADDRESS[client], name_in(target), protocol=protocol) for target in EVERYTHING
    }
    visible = {target: Answer("NOERROR", (f"A {address_in(admin, target)}",)) for target in VISIBLE[client]}
    assert answers == dict.fromkeys(EVERYTHING, ABSENT) | visible


@pytest.mark.parametrize(("form", "kind"), FORMS)
def test_no_form_of_a_name_tells_that_it_exists(dns_server: Dns, form: str, kind: str) -> None:
    for client in ("tenant-a", "billing"):
        for target in EVERYTHING - VISIBLE[client]:
            # First, a pod that may resolve the name sends the query. A cache shared by all pods would then
            # contain the response.
            dns_server.ask(ADDRESS["kube-system"], form.format(target), kind)
            assert dns_server.ask(ADDRESS[client], form.format(target), kind) == ABSENT, (client, target)


def test_ds_queries_tell_nothing(dns_server: Dns) -> None:
    for client in ("tenant-a", "kube-system"):
        for name in (name_in("tenant-a"), name_in("tenant-b"), name_in("not-there")):
            assert dns_server.ask(ADDRESS[client], name, "DS") == Answer("NOERROR"), (client, name)


def test_addresses_tell_names_to_the_platform_only(dns_server: Dns, admin: Cluster) -> None:
    reverse = dns.reversename.from_address(address_in(admin, "tenant-b")).to_text()
    known = Answer("NOERROR", (f"PTR {name_in('tenant-b')}",))
    assert dns_server.ask(ADDRESS["monitoring"], reverse, "PTR") == known
    for source in (ADDRESS["tenant-a"], ADDRESS["billing"], UNKNOWN):
        assert dns_server.ask(source, reverse, "PTR") == ABSENT


def test_who_is_no_known_pod_gets_shared_names_and_is_refused_the_others(
    dns_server: Dns, admin: Cluster
) -> None:
    shared = Answer("NOERROR", (f"A {address_in(admin, 'default')}",))
    assert dns_server.ask(UNKNOWN, name_in("default")) == shared
    for target in EVERYTHING - SHARED:
        assert dns_server.ask(UNKNOWN, name_in(target)) == Answer("REFUSED"), target


def test_names_outside_the_cluster_are_everybodys(dns_server: Dns) -> None:
    for source in (*ADDRESS.values(), UNKNOWN):
        assert dns_server.ask(source, "example.test.") == Answer("NOERROR", (f"A {OUTSIDE}",))


def test_zone_is_not_handed_out(dns_server: Dns) -> None:
    assert dns_server.ask(ADDRESS["tenant-a"], "cluster.local.", "AXFR", protocol="tcp").records == ()


def test_label_on_a_pod_changes_nothing(dns_server: Dns, admin: Cluster) -> None:
    (client,) = admin.list(POD, namespace="tenant-a")[0]
    forged = {"metadata": {"labels": {"tenant.platform.ai/name": "b"}}}
    admin.patch(POD, client["metadata"]["name"], forged, namespace="tenant-a")
    assert dns_server.ask(ADDRESS["tenant-a"], name_in("tenant-b")) == ABSENT


def test_new_namespace_finds_its_own_names_at_once_and_others_of_its_tenant_when_listed(
    dns_server: Dns, admin: Cluster
) -> None:
    add_namespace(admin, "tenant-b-new")
    add_pod(admin, "tenant-b-new", "127.0.0.50")
    add(admin, SERVICE, "tenant-b-new", "web", spec={"ports": [{"port": 80}]})

    def code(target: str) -> str:
        return dns_server.ask("127.0.0.50", name_in(target)).code

    eventually(lambda: code("tenant-b-new") == "NOERROR", "the new pod resolves names in its own namespace")
    assert code("tenant-b") == "NXDOMAIN"

    dns_server.reload([*NAMESPACE_GROUPS, ["tenant-b", "tenant-b-new"]])
    eventually(lambda: code("tenant-b") == "NOERROR", "the new pod resolves names in the other namespace")
    assert code("tenant-a") == "NXDOMAIN"


def test_config_of_thousands_of_tenants_works(
    control_plane: ControlPlane, coredns_binary: Path, admin: Cluster, tmp_path: Path
) -> None:
    many = [[f"tenant-{number}-a", f"tenant-{number}-b"] for number in range(12_000)]
    with running_coredns(
        coredns_binary, control_plane.kubeconfig, [*NAMESPACE_GROUPS, *many], tmp_path
    ) as server:
        ask = partial(server.ask, ADDRESS["tenant-a"])
        eventually(lambda: ask(name_in("tenant-a-x")).code == "NOERROR", "CoreDNS answers")
        assert ask(name_in("tenant-b")) == ABSENT
        assert ask(name_in("tenant-a-x")).records == (f"A {address_in(admin, 'tenant-a-x')}",)
