"""The history that the page shows is the stack's own."""

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
        tenant_manifest("page-remembered", plan="basic"),
        tenant_manifest("page-unread", plan="basic"),
        tenant_manifest("page-new", plan="basic", paused=True),
    ):
        yield


def await_update(page: PageClient, name: str, version: int) -> None:
    """Until the page knows of the update: a moment later than the cluster."""

    def is_known() -> bool:
        row = page.rows().get(name) or {}
        return (row.get("lastUpdate") or {}).get("version") == version

    eventually(is_known, f"the page knows of update {version} of {name}")


def test_history_is_the_stacks_with_the_fields_that_changed(platform: Platform, page: PageClient) -> None:
    await_update(page, "page-history", 1)
    assert len(page.get("/api/tenants/page-history/history").data["updates"]) == 1
    platform.apply({**HISTORY, "spec": {"plan": "basic", "resourceQuotas": {"cpu": "300m"}}})
    await_update(page, "page-history", 2)

    told = page.get("/api/tenants/page-history/history")
    assert told.status == 200
    updates, stack = told.data["updates"], platform.history("page-history")
    assert [update["version"] for update in updates] == [2, 1]
    assert [
        (update["operation"], update["cause"], update["result"], update["counts"]) for update in updates
    ] == [(kept["kind"], kept["message"], kept["result"], kept["resourceChanges"]) for kept in stack]
    # What the CLI prints for people is cut to whole seconds.
    for update, kept in zip(updates, stack, strict=True):
        started = datetime.fromisoformat(update["started"]).replace(microsecond=0)
        assert started == datetime.fromisoformat(kept["startTime"]).replace(microsecond=0)

    newest = updates[0]
    assert newest["spec"]["resourceQuotas"] == {"cpu": "300m"}
    assert newest["by"] == "tenancy"
    [change] = newest["changes"]
    assert (change["operation"], change["kind"], change["name"]) == (
        "update",
        "ResourceQuota",
        "tenant-quota",
    )
    assert {"path": "spec.hard.cpu", "before": "500m", "after": "300m"} in change["fields"]


def test_answer_is_remembered_while_nothing_was_applied(platform: Platform, page: PageClient) -> None:
    await_update(page, "page-remembered", 1)
    before = platform.runs("stack history", "page-remembered")
    answers = [page.get("/api/tenants/page-remembered/history").text for _ in range(3)]
    assert len(set(answers)) == 1
    assert platform.runs("stack history", "page-remembered") == before + 1


def test_tenant_without_a_stack_has_an_empty_history(page: PageClient) -> None:
    eventually(lambda: "page-new" in page.rows(), "the page has heard of it")
    assert page.get("/api/tenants/page-new/history").data == {"updates": []}


def test_unknown_tenant_has_none(page: PageClient) -> None:
    for path in ("/api/tenants/page-nobody/history", "/api/tenants/page-nobody"):
        answer = page.get(path)
        assert answer.status == 404
        assert "page-nobody" in answer.data["message"]


def test_backend_that_can_not_be_read_is_told(platform: Platform, page: PageClient) -> None:
    await_update(page, "page-unread", 1)
    [kept] = (platform.folder / "state").glob("**/history/**/tenant-page-unread*.history.json")
    text = kept.read_text()
    kept.write_text("{")
    try:
        answer = page.get("/api/tenants/page-unread/history")
    finally:
        kept.write_text(text)
    assert answer.status == 502
    assert "the history can't be read: " in answer.data["message"]
