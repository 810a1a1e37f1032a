"""A Tenant's status contains the usage. Writing the usage does not add the tenant to the work queue."""

from decimal import Decimal
from typing import Any

from cluster.tenants import needs_work
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.spec.crd import tenant_crds
from tenancy.usage import MeasuredUsage
from watcher.reconciler.status import failed_status, with_usage
from watcher.view import tenant_row

HARD = {"requests.cpu": "1", "requests.memory": "1Gi", "pods": "20"}


def live(**used: str) -> dict[ObjectKey, Manifest]:
    return {
        ObjectKey("ResourceQuota", namespace, "tenant-quota"): {
            "kind": "ResourceQuota",
            "spec": {"hard": HARD},
            "status": {"used": {"requests.cpu": cpu, "requests.memory": "0", "pods": "2"}},
        }
        for namespace, cpu in used.items()
    }


def status(*namespaces: str) -> Manifest:
    return {"phase": "Active", "namespaceStatus": {name: {"ready": True} for name in namespaces}}


def test_usage_is_reported_in_total_and_by_namespace() -> None:
    new_status = with_usage(status("a", "b"), live(a="250m", b="500m"), None)
    assert new_status["usage"] == {
        "pods": 4,
        "quotas": {
            "cpu": {"used": "750m", "hard": "2"},
            "memory": {"used": "0", "hard": "2Gi"},
            "pods": {"used": "4", "hard": "40"},
        },
    }
    assert new_status["namespaceStatus"] == {
        "a": {"ready": True, "resourceUsage": {"cpu": "250m", "memory": "0"}},
        "b": {"ready": True, "resourceUsage": {"cpu": "500m", "memory": "0"}},
    }
    assert new_status["phase"] == "Active"


def test_measured_usage_is_reported() -> None:
    measured = MeasuredUsage(Decimal("0.25"), Decimal(2**30))
    usage = with_usage(status("a"), live(a="0"), measured)["usage"]
    assert (usage["cpu"], usage["memory"]) == ("250m", "1Gi")


def test_tenant_without_namespaces_uses_nothing() -> None:
    assert with_usage({"phase": "Failed"}, {}, None) == {"phase": "Failed", "usage": {"quotas": {}}}


def test_same_usage_gives_the_same_status() -> None:
    first = with_usage(status("a"), live(a="250m"), MeasuredUsage())
    assert with_usage(first, live(a="250m"), MeasuredUsage()) == first


def test_usage_that_is_no_longer_measured_is_removed() -> None:
    first = with_usage(status("a"), live(a="250m"), MeasuredUsage())
    assert "cpu" not in with_usage(first, live(a="250m"), None)["usage"]


def test_status_of_a_failure_keeps_the_usage() -> None:
    tenant = {"metadata": {"generation": 1}, "status": with_usage(status("a"), live(a="250m"), None)}
    assert failed_status(tenant, "UnknownPlan", "no")["usage"] == tenant["status"]["usage"]


def test_written_usage_does_not_queue_the_tenant() -> None:
    metadata: dict[str, Any] = {"uid": "1", "generation": 3, "resourceVersion": "7"}
    before = {"metadata": metadata, "status": status("a")}
    after = {
        "metadata": {**metadata, "resourceVersion": "8"},
        "status": with_usage(status("a"), live(a="1"), MeasuredUsage()),
    }
    assert not needs_work(before, after)


def test_schema_has_every_field_that_is_written() -> None:
    for crd in tenant_crds():
        schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
        known = schema["properties"]["usage"]["properties"]
        assert known.keys() >= with_usage({}, live(a="1"), MeasuredUsage())["usage"].keys()
        assert known["pods"]["type"] == "integer"
        assert known["quotas"]["additionalProperties"]["properties"].keys() == {"used", "hard"}


def test_page_and_status_have_the_same_amounts() -> None:
    new_status = with_usage(
        status("a", "b"), live(a="250m", b="500m"), MeasuredUsage(Decimal("0.1"), Decimal(2**20))
    )
    metadata = {"name": "acme", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"}
    tenant = {
        "apiVersion": "platform.ai/v1",
        "metadata": metadata,
        "spec": {"plan": "basic"},
        "status": new_status,
    }
    row = tenant_row(tenant, live(a="250m", b="500m"))
    bars = {bar.resource: {"used": bar.used, "hard": bar.hard} for bar in row.quotas}
    assert bars == new_status["usage"]["quotas"]
    assert (row.in_use.cpu, row.in_use.memory) == ("100m", "1Mi")
    assert tenant_row({**tenant, "status": {}}, {}).in_use.cpu is None
