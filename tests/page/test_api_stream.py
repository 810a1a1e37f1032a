"""The stream tells what has changed, and only that."""

from itertools import pairwise

from tests.page.client import PageClient
from tests.platform import NewTenant, Platform
from tests.waiting import eventually


def test_changed_row_comes_after_a_change_of_the_spec_and_gone_after_deletion(
    platform: Platform, new_tenant: NewTenant, page: PageClient
) -> None:
    with page.stream() as stream:
        manifest = new_tenant("page-stream", plan="basic")
        assert stream.next("tenant", "page-stream")["plan"] == "basic"
        stream.next("tenant", "page-stream", phase="Active")
        # Its quotas are counted meanwhile, which are rows of their own.
        eventually(
            lambda: stream.latest("page-stream") == page.rows()["page-stream"],
            f"the newest row in the stream is that of the list; came: {stream.seen}",
        )
        new_tenant("page-stream", plan="pro", displayName="Renamed")
        assert stream.next("tenant", "page-stream", plan="pro", displayName="Renamed")
        platform.await_active(manifest)
        platform.delete(manifest)
        stream.next("tenant", "page-stream", phase="Terminating")
        assert stream.next("gone", "page-stream") == {"name": "page-stream"}
    assert "page-stream" not in page.rows()
    assert page.get("/api/tenants/page-stream").status == 404


def test_no_row_comes_where_none_has_changed(
    platform: Platform, new_tenant: NewTenant, page: PageClient
) -> None:
    quiet = new_tenant("page-quiet", plan="basic", paused=True)
    platform.await_active(new_tenant("page-loud", plan="basic"))
    eventually(lambda: page.rows()["page-quiet"]["reason"] == "Paused", "the page has heard of it")
    with page.stream() as stream, page.stream() as other:
        # A change that no row shows: of the object's labels.
        platform.apply({**quiet, "metadata": {**quiet["metadata"], "labels": {"seen": "no"}}})
        new_tenant("page-loud", plan="basic", displayName="Heard")
        stream.next("tenant", "page-loud", displayName="Heard")
        other.next("tenant", "page-loud", displayName="Heard")
        new_tenant("page-quiet", plan="basic", paused=True, displayName="Now")
        stream.next("tenant", "page-quiet")
    rows = [data for _, data in stream.seen]
    assert [row["displayName"] for row in rows if row["name"] == "page-quiet"] == ["Now"]
    for name in {row["name"] for row in rows}:
        assert all(before != after for before, after in pairwise(row for row in rows if row["name"] == name))


def test_tenant_that_is_renewed_by_its_status_is_told_too(
    platform: Platform, new_tenant: NewTenant, page: PageClient
) -> None:
    manifest = new_tenant("page-drift", plan="basic")
    platform.await_active(manifest)
    new_tenant("page-drift", plan="basic", paused=True)
    platform.await_condition(manifest, "Paused")
    with page.stream() as stream:
        platform.remove("Role", "tenant-page-drift", "tenant-viewer")
        stream.next("tenant", "page-drift", isDrifted=True)
    assert page.get("/api/tenants/page-drift").data["drift"] == [
        {
            "operation": "create",
            "kind": "Role",
            "namespace": "tenant-page-drift",
            "name": "tenant-viewer",
            "fields": [],
        }
    ]
