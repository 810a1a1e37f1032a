"""What the page is told of tenants agrees with the cluster."""

from decimal import Decimal
from typing import Any

from tenancy.kinds import NETWORK_POLICY, RESOURCE_QUOTA
from tenancy.quantity import quantity_value
from tests.page.client import PageClient
from tests.platform import NewTenant, Platform
from tests.waiting import eventually


def test_list_has_a_row_with_the_facts_of_the_cluster(
    platform: Platform, new_tenant: NewTenant, page: PageClient
) -> None:
    manifest = new_tenant(
        "page-row", plan="pro", displayName="Rows & Sons", namespaces=[{"name": "a"}, {"name": "b"}]
    )
    live = platform.await_active(manifest)
    row = eventually(
        lambda: found if (found := page.rows()["page-row"])["phase"] == "Active" else None,
        "the row is current",
    )
    assert {key: row[key] for key in ("apiVersion", "plan", "displayName", "created", "namespaces")} == {
        "apiVersion": live["apiVersion"],
        "plan": "pro",
        "displayName": "Rows & Sons",
        "created": live["metadata"]["creationTimestamp"],
        "namespaces": 2,
    }
    assert row["lastUpdate"] == live["status"]["lastUpdate"]
    assert (row["reason"], row["message"]) == ("", "")
    assert not row["isPaused"]
    assert not row["isCordoned"]
    assert not row["isDrifted"]
    names = [found["name"] for found in page.get("/api/tenants").data["tenants"]]
    assert names == sorted(names)
    assert page.get("/api/tenants").data["user"] == ""


def test_quotas_are_summed_over_the_namespaces_with_what_is_used(
    platform: Platform, new_tenant: NewTenant, page: PageClient
) -> None:
    platform.await_active(new_tenant("page-quota", plan="basic", namespaces=[{"name": "a"}, {"name": "b"}]))
    live = [found for (kind, *_), found in platform.objects("page-quota").items() if kind == "ResourceQuota"]
    hard = sum(
        (quantity_value(quota["spec"]["hard"]["cpu"]) for quota in live if "cpu" in quota["spec"]["hard"]),
        Decimal(),
    )
    used = {"hard": {"cpu": "500m"}, "used": {"cpu": "125m"}}
    platform.admin.patch(
        RESOURCE_QUOTA,
        "tenant-quota",
        {"status": used},
        namespace="tenant-page-quota-a",
        subresource="status",
    )

    def figures() -> dict[str, str] | None:
        bars = {bar["resource"]: bar for bar in page.rows()["page-quota"]["quotas"]}
        return bars["cpu"] if bars["cpu"]["used"] != "0" else None

    bar = eventually(figures, "what is used is told")
    assert quantity_value(bar["hard"]) == hard
    assert bar["used"] == "125m"
    view = page.get("/api/tenants/page-quota").data
    by_namespace = {found["name"]: found["quotas"] for found in view["namespaces"]}
    assert by_namespace.keys() == {"tenant-page-quota-a", "tenant-page-quota-b"}
    assert [bar["used"] for bar in by_namespace["tenant-page-quota-b"] if bar["resource"] == "cpu"] == ["0"]


def test_view_tells_who_has_access_and_what_is_wanted(
    platform: Platform, new_tenant: NewTenant, page: PageClient
) -> None:
    live = platform.await_active(new_tenant("page-view", plan="basic", adminUsers=["ada"]))

    def current() -> dict[str, Any] | None:
        found = page.get("/api/tenants/page-view").data
        told = (platform.tenant(live) or {})["status"]["conditions"]
        return found if found["conditions"] == told else None

    view = eventually(current, "the view is current")
    assert view["spec"] == live["spec"]
    assert view["drift"] == []
    [namespace] = view["namespaces"]
    assert (namespace["name"], namespace["isReady"]) == ("tenant-page-view", True)
    bound = (platform.get("RoleBinding", "tenant-page-view", "tenant-admin") or {})["subjects"]
    assert [
        (found["kind"], found["name"], found["role"], found["namespaces"]) for found in view["access"]
    ] == [(subject["kind"], subject["name"], "admin", ["tenant-page-view"]) for subject in bound]


def test_network_is_drawn_from_all_policies_in_the_tenants_namespaces(
    platform: Platform, new_tenant: NewTenant, page: PageClient
) -> None:
    """One that stood in a namespace before it was adopted still lets people in."""
    name = "tenant-page-net"
    platform.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    peers = [{"ipBlock": {"cidr": "198.51.100.0/24"}}]
    platform.apply(
        {
            "apiVersion": NETWORK_POLICY.api_version,
            "kind": NETWORK_POLICY.kind,
            "metadata": {"name": "old", "namespace": name},
            "spec": {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{"from": peers}]},
        }
    )
    egress = [{"cidr": "203.0.113.0/24", "ports": [{"port": 443}]}]
    platform.await_active(new_tenant("page-net", plan="basic", adopt=True, network={"egress": egress}))
    network = page.get("/api/tenants/page-net").data["network"]
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
