"""The other door: an operator's own `pulumi` on the watcher's stacks."""

from tests.platform import NewTenant, Platform


def test_preview_after_the_watchers_up_shows_no_change(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("peek", plan="pro", username="a b", namespaces=[{"name": "x"}, {"name": "y"}])
    platform.await_active(manifest)
    told = platform.pulumi("tenant-peek", "preview", "--expect-no-changes")
    assert told.returncode == 0, told.stdout + told.stderr
    assert "38 unchanged" in told.stdout


def test_up_by_hand_builds_what_the_watcher_builds(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("hand", plan="basic")
    platform.await_active(manifest)
    platform.stop()
    platform.apply({**manifest, "spec": {"plan": "pro"}})
    told = platform.pulumi("tenant-hand", "up", "--yes", "--skip-preview", "--message", "by hand")
    assert told.returncode == 0, told.stdout + told.stderr
    assert (
        platform.objects("hand")["ResourceQuota", "tenant-hand", "tenant-quota"]["spec"]["hard"]["cpu"] == "4"
    )

    platform.start()
    tenant = platform.await_active(manifest)
    # The watcher agrees: its own update finds nothing to change.
    assert tenant["status"]["lastUpdate"]["resourceChanges"].keys() == {"same"}
    assert tenant["status"]["lastUpdate"]["version"] == 3


def test_up_by_hand_refuses_a_bad_spec_by_its_field(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("handbad", plan="basic")
    platform.await_active(manifest)
    platform.apply({**manifest, "spec": {"plan": "gold"}})
    told = platform.pulumi("tenant-handbad", "preview")
    assert told.returncode != 0
    assert "spec.plan: there is no plan 'gold'" in told.stdout + told.stderr


def test_history_has_one_update_per_change_and_its_cause(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("past", plan="basic")
    platform.await_active(manifest)
    platform.apply({**manifest, "spec": {"plan": "pro"}})
    platform.await_active(manifest)
    platform.remove("Role", "tenant-past", "tenant-viewer")
    platform.await_condition(manifest, "Repaired", "Drifted")
    assert [update["message"] for update in platform.history("past")] == [
        "drift: Role tenant-past/tenant-viewer deleted",
        "spec generation 2",
        "spec generation 1",
    ]
    assert {update["result"] for update in platform.history("past")} == {"succeeded"}


def test_up_by_hand_drops_no_namespace_that_is_to_stay(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("handkeep", namespaces=[{"name": "a"}, {"name": "b"}])
    platform.await_active(manifest)
    platform.stop()
    platform.apply({**manifest, "spec": {"deletionPolicy": "Retain", "namespaces": [{"name": "a"}]}})
    told = platform.pulumi("tenant-handkeep", "up", "--yes", "--skip-preview")
    assert told.returncode != 0
    assert "tenant-handkeep-b would leave the stack" in told.stdout + told.stderr
    namespace = platform.namespace("tenant-handkeep-b")
    assert namespace is not None
    assert "deletionTimestamp" not in namespace["metadata"]

    platform.start()
    platform.await_active(manifest)
    namespace = platform.namespace("tenant-handkeep-b")
    assert namespace is not None
    assert "deletionTimestamp" not in namespace["metadata"]
    platform.apply({**manifest, "spec": {"namespaces": [{"name": "a"}, {"name": "b"}], "adopt": True}})
    platform.await_active(manifest)
