"""The web page's data about tenants matches the objects in the cluster."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from tenancy.base.kinds import NETWORK_POLICY
from tenancy.base.labels import ADOPTION_ANNOTATION
from tenancy.base.manifest import Manifest
from tenancy.base.quantity import quantity_value
from tests.integrations.pods import POD, allow_pods, pod
from tests.page.client import PageClient
from tests.platform import Platform, tenant_manifest
from tests.shared import shared_tenants
from tests.waiting import eventually

ROW = tenant_manifest(
    "page-row", plan="pro", displayName="Rows & Sons", namespaces=[{"name": "a"}, {"name": "b"}]
)
VIEW = tenant_manifest(
    "page-view",
    plan="basic",
    adminUsers=["ada"],
    adopt=True,
    network={"egress": [{"cidr": "203.0.113.0/24", "ports": [{"port": 443}]}]},
)
# A NetworkPolicy that exists in a namespace before a tenant adopts the namespace.
OLD_POLICY = {
    "apiVersion": NETWORK_POLICY.api_version,
    "kind": NETWORK_POLICY.kind,
    "metadata": {"name": "old", "namespace": "tenant-page-view"},
    "spec": {
        "podSelector": {},
        "policyTypes": ["Ingress"],
        "ingress": [{"from": [{"ipBlock": {"cidr": "198.51.100.0/24"}}]}],
    },
}


@pytest.fixture(scope="module", autouse=True)
def _tenants(running_platform: Platform) -> Iterator[None]:
    metadata = {"name": "tenant-page-view", "annotations": {ADOPTION_ANNOTATION: "page-view"}}
    adopted = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    for manifest in (adopted, OLD_POLICY):
        running_platform.apply(manifest)
    with shared_tenants(running_platform, ROW, VIEW):
        yield


def live(platform: Platform, manifest: Manifest) -> Manifest:
    tenant = platform.tenant(manifest)
    assert tenant is not None
    return tenant


def current_view(platform: Platform, page: PageClient, manifest: Manifest) -> dict[str, Any]:
    """Wait until the page's data about the tenant matches the cluster, and return the data."""

    def caught_up() -> dict[str, Any] | None:
        view = page.get(f"/api/tenants/{manifest['metadata']['name']}").data
        is_current = view.get("conditions") == live(platform, manifest)["status"]["conditions"]
        return view if is_current and view["drift"] == [] else None

    return eventually(caught_up, "the view is current")


def test_row_agrees_with_the_cluster(platform: Platform, page: PageClient) -> None:
    tenant = live(platform, ROW)
    row = eventually(
        lambda: current if (current := page.rows().get("page-row", {})).get("phase") == "Active" else None,
        "the row is current",
    )
    assert {key: row[key] for key in ("apiVersion", "plan", "displayName", "created", "namespaces")} == {
        "apiVersion": tenant["apiVersion"],
        "plan": "pro",
        "displayName": "Rows & Sons",
        "created": tenant["metadata"]["creationTimestamp"],
        "namespaces": 2,
    }
    assert row["lastUpdate"] == tenant["status"]["lastUpdate"]
    assert (row["reason"], row["message"]) == ("", "")
    assert not row["isPaused"]
    assert not row["isCordoned"]
    assert not row["isDrifted"]
    names = [row["name"] for row in page.get("/api/tenants").data["tenants"]]
    assert names == sorted(names)
    assert page.get("/api/tenants").data["user"] == ""


def test_quotas_and_usage_are_summed_over_the_namespaces(platform: Platform, page: PageClient) -> None:
    namespace = "tenant-page-row-a"
    allow_pods(platform.admin, namespace)
    pods = [platform.admin.create(POD, pod(namespace)) for _ in range(2)]
    requested = sum(
        (
            quantity_value(created["spec"]["containers"][0]["resources"]["requests"]["cpu"])
            for created in pods
        ),
        Decimal(),
    )
    quotas = [quota for (kind, *_), quota in platform.objects("page-row").items() if kind == "ResourceQuota"]
    hard = [
        quantity_value(quota["spec"]["hard"]["cpu"]) for quota in quotas if "cpu" in quota["spec"]["hard"]
    ]
    assert len(hard) == 2

    def bar() -> dict[str, str] | None:
        bars = {bar["resource"]: bar for bar in page.rows()["page-row"]["quotas"]}
        return bars["cpu"] if quantity_value(bars["cpu"]["used"]) == requested else None

    assert requested > 0
    assert quantity_value(eventually(bar, f"{requested} CPUs are in use")["hard"]) == sum(hard)
    view = page.get("/api/tenants/page-row").data
    by_namespace = {
        namespace_view["name"]: quantity_value(bar["used"])
        for namespace_view in view["namespaces"]
        for bar in namespace_view["quotas"]
        if bar["resource"] == "cpu"
    }
    assert by_namespace == {namespace: requested, "tenant-page-row-b": 0}


def test_view_has_the_spec_and_the_access(platform: Platform, page: PageClient) -> None:
    view = current_view(platform, page, VIEW)
    assert view["spec"] == live(platform, VIEW)["spec"]
    [namespace] = view["namespaces"]
    assert (namespace["name"], namespace["isReady"]) == ("tenant-page-view", True)
    bound = (platform.get("RoleBinding", "tenant-page-view", "tenant-admin") or {})["subjects"]
    assert [
        (entry["kind"], entry["name"], entry["role"], entry["namespaces"]) for entry in view["access"]
    ] == [(subject["kind"], subject["name"], "admin", ["tenant-page-view"]) for subject in bound]


def test_network_is_drawn_from_all_policies_in_the_tenants_namespaces(
    platform: Platform, page: PageClient
) -> None:
    """The diagram includes NetworkPolicies that existed in a namespace before the tenant adopted it."""
    name = "tenant-page-view"
    network = current_view(platform, page, VIEW)["network"]
    labels = {node["id"]: node["label"] for node in network["nodes"]}
    assert {(labels[edge["source"]], labels[edge["target"]], edge["ports"]) for edge in network["edges"]} == {
        (name, "DNS (kube-system)", "53/UDP, 53/TCP"),
        (name, "platform-shared", "all"),
        (name, "203.0.113.0/24", "443/TCP"),
        ("ingress-nginx", name, "all"),
        ("monitoring", name, "all"),
        ("198.51.100.0/24", name, "all"),
    }
    assert {"other tenants", "anything else outside"} <= set(labels.values())


def test_page_shows_the_older_of_two_tenants_with_the_same_name(platform: Platform, page: PageClient) -> None:
    newer = tenant_manifest("page-row", "kleff.kleff.io", displayName="Newer")
    platform.apply(newer)
    platform.await_condition(newer, "NameTaken")
    try:
        rows = [row for row in page.get("/api/tenants").data["tenants"] if row["name"] == "page-row"]
        assert [row["displayName"] for row in rows] == ["Rows & Sons"]
        assert page.get("/api/tenants/page-row").data["row"]["apiVersion"] == "platform.ai/v1"
    finally:
        platform.delete(newer)
        platform.await_gone(newer)
