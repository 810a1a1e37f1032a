"""The event stream contains a row for each change of a row, and no other rows."""

from itertools import pairwise

from tests.page.client import PageClient
from tests.platform import NewTenant, Platform
from tests.waiting import eventually


def test_change_of_spec_sends_a_row_and_deletion_sends_gone(
    platform: Platform, new_tenant: NewTenant, page: PageClient
) -> None:
    with page.stream() as stream:
        manifest = new_tenant("page-stream", plan="basic")
        assert stream.next("tenant", "page-stream")["plan"] == "basic"
        stream.next("tenant", "page-stream", phase="Active")
        # The usage in the quotas changes at the same time, which also sends rows.
        eventually(
            lambda: stream.latest("page-stream") == page.rows()["page-stream"],
            f"the newest row in the stream is the one in the list; received: {stream.seen}",
        )
        new_tenant("page-stream", plan="pro", displayName="Renamed")
        assert stream.next("tenant", "page-stream", plan="pro", displayName="Renamed")
        platform.await_active(manifest)
        platform.delete(manifest)
        stream.next("tenant", "page-stream", phase="Terminating")
        assert stream.next("gone", "page-stream") == {"name": "page-stream"}
    assert "page-stream" not in page.rows()
    assert page.get("/api/tenants/page-stream").status == 404


def test_unchanged_row_is_not_sent(platform: Platform, new_tenant: NewTenant, page: PageClient) -> None:
    quiet = new_tenant("page-quiet", plan="basic", paused=True)
    platform.await_active(new_tenant("page-loud", plan="basic"))
    eventually(lambda: page.rows()["page-quiet"]["reason"] == "Paused", "the page shows the tenant")
    with page.stream() as stream, page.stream() as other:
        # Change only the labels. They are not part of a row.
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


def test_change_of_status_sends_a_row(platform: Platform, new_tenant: NewTenant, page: PageClient) -> None:
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
