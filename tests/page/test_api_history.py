"""The history that the page shows is the stack's own."""

from datetime import datetime

from tests.page.client import PageClient
from tests.platform import NewTenant, Platform


def test_history_is_the_stacks_with_the_fields_that_changed(
    platform: Platform, new_tenant: NewTenant, page: PageClient
) -> None:
    manifest = new_tenant("page-history", plan="basic")
    platform.await_active(manifest)
    assert len(page.get("/api/tenants/page-history/history").data["updates"]) == 1
    new_tenant("page-history", plan="basic", resourceQuotas={"cpu": "300m"})
    platform.await_active(manifest)

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


def test_answer_is_remembered_while_nothing_was_applied(
    platform: Platform, new_tenant: NewTenant, page: PageClient
) -> None:
    platform.await_active(new_tenant("page-remembered", plan="basic"))
    before = platform.runs("stack history")
    answers = [page.get("/api/tenants/page-remembered/history").text for _ in range(3)]
    assert len(set(answers)) == 1
    assert platform.runs("stack history") == before + 1


def test_tenant_without_a_stack_has_an_empty_history(
    platform: Platform, new_tenant: NewTenant, page: PageClient
) -> None:
    platform.await_condition(new_tenant("page-new", plan="basic", paused=True), "Paused")
    assert page.get("/api/tenants/page-new/history").data == {"updates": []}


def test_unknown_tenant_has_none(page: PageClient) -> None:
    for path in ("/api/tenants/page-nobody/history", "/api/tenants/page-nobody"):
        answer = page.get(path)
        assert answer.status == 404
        assert "page-nobody" in answer.data["message"]


def test_backend_that_can_not_be_read_is_told(
    platform: Platform, new_tenant: NewTenant, page: PageClient
) -> None:
    platform.await_active(new_tenant("page-unread", plan="basic"))
    [kept] = (platform.folder / "state").glob("**/history/**/tenant-page-unread*.history.json")
    text = kept.read_text()
    kept.write_text("{")
    try:
        answer = page.get("/api/tenants/page-unread/history")
    finally:
        kept.write_text(text)
    assert answer.status == 502
    assert "the history can't be read: " in answer.data["message"]
