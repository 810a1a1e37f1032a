"""The web page shows the history of a tenant's stack."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

import pytest

from tests.page.client import PageClient
from tests.platform import Platform, tenant_manifest
from tests.shared import shared_tenants
from tests.waiting import eventually

HISTORY = tenant_manifest("page-history", plan="basic")


@pytest.fixture(scope="module", autouse=True)
def _tenants(running_platform: Platform) -> Iterator[None]:
    with shared_tenants(
        running_platform,
        HISTORY,
        tenant_manifest("page-cached", plan="basic"),
        tenant_manifest("page-unread", plan="basic"),
        tenant_manifest("page-new", plan="basic", paused=True),
    ):
        yield


def await_update(page: PageClient, name: str, version: int) -> None:
    """Wait until the page shows the update. The page shows changes later than the cluster."""

    def is_shown() -> bool:
        row = page.rows().get(name) or {}
        return (row.get("lastUpdate") or {}).get("version") == version

    eventually(is_shown, f"the page shows update {version} of {name}")


def test_history_has_the_stacks_updates_with_changed_fields(platform: Platform, page: PageClient) -> None:
    await_update(page, "page-history", 1)
    assert len(page.get("/api/tenants/page-history/history").data["updates"]) == 1
    platform.apply({**HISTORY, "spec": {"plan": "basic", "resourceQuotas": {"cpu": "300m"}}})
    await_update(page, "page-history", 2)

    response = page.get("/api/tenants/page-history/history")
    assert response.status == 200
    updates, stack_updates = response.data["updates"], platform.history("page-history")
    assert [update["version"] for update in updates] == [2, 1]
    assert [(update["operation"], update["cause"], update["result"]) for update in updates] == [
        (stack_update["kind"], stack_update["message"], stack_update["result"])
        for stack_update in stack_updates
    ]
    for update in updates:
        assert update["counts"] == Counter(change["operation"] for change in update["changes"])
    # The CLI prints times in whole seconds.
    for update, stack_update in zip(updates, stack_updates, strict=True):
        started = datetime.fromisoformat(update["started"]).replace(microsecond=0)
        assert started == datetime.fromisoformat(stack_update["startTime"]).replace(microsecond=0)

    newest = updates[0]
    assert newest["spec"]["resourceQuotas"] == {"cpu": "300m"}
    assert newest["by"] == "unknown, via manager tenancy-cli"
    [change] = newest["changes"]
    assert (change["operation"], change["kind"], change["name"]) == (
        "update",
        "ResourceQuota",
        "tenant-quota",
    )
    assert {"path": "spec.hard.cpu", "before": "500m", "after": "300m"} in change["fields"]


def test_history_is_cached_until_the_next_update(platform: Platform, page: PageClient) -> None:
    await_update(page, "page-cached", 1)
    first = page.get("/api/tenants/page-cached/history").text
    folder = platform.stack_folder("history") / "tenancy" / "tenant-page-cached"
    hidden = folder.rename(folder.with_name(f"{folder.name}.hidden"))
    try:
        assert page.get("/api/tenants/page-cached/history").text == first
    finally:
        hidden.rename(folder)


def test_tenant_without_a_stack_has_only_changes_of_its_spec(page: PageClient) -> None:
    eventually(lambda: "page-new" in page.rows(), "the page shows the tenant")
    [entry] = page.get("/api/tenants/page-new/history").data["updates"]
    assert (entry["version"], entry["cause"], entry["result"]) == (None, "spec generation 1", "paused")


def test_unknown_tenant_is_not_found(page: PageClient) -> None:
    for path in ("/api/tenants/page-nobody/history", "/api/tenants/page-nobody"):
        response = page.get(path)
        assert response.status == 404
        assert "page-nobody" in response.data["message"]


def test_unreadable_history_is_reported(platform: Platform, page: PageClient) -> None:
    await_update(page, "page-unread", 1)
    [history_file] = (platform.folder / "state").glob("**/history/**/tenant-page-unread*.history.json.gz")
    content = history_file.read_bytes()
    history_file.write_bytes(b"{")
    try:
        response = page.get("/api/tenants/page-unread/history")
    finally:
        history_file.write_bytes(content)
    assert response.status == 502
    assert "cannot read the history: " in response.data["message"]
