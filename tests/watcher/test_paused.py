"""If `paused` is true, the watcher does not change the objects.

The status reports drift and pending changes.
"""

from itertools import cycle

from tenancy.base.kinds import kind_of
from tenancy.base.manifest import Manifest
from tenancy.changes import Cause
from tenancy.history.spec_changes import changes_in
from tests.platform import NewTenant, Platform, condition
from tests.waiting import eventually


def test_paused_tenant_reports_drift_and_repairs_it_when_resumed(
    platform: Platform, new_tenant: NewTenant
) -> None:
    manifest = new_tenant("rest", plan="basic")
    platform.await_active(manifest)
    platform.apply({**manifest, "spec": {"plan": "basic", "paused": True}})
    platform.await_condition(manifest, "Paused")

    platform.remove("Role", "tenant-rest", "tenant-viewer")
    drifted = platform.await_condition(manifest, "Paused", "Drifted")
    assert drifted["status"] == "True"
    assert drifted["message"] == "Role tenant-rest/tenant-viewer deleted"
    assert platform.get("Role", "tenant-rest", "tenant-viewer") is None

    platform.apply({**manifest, "spec": {"plan": "basic", "paused": False}})
    platform.await_condition(manifest, "Repaired", "Drifted")
    assert platform.get("Role", "tenant-rest", "tenant-viewer") is not None


def test_repair_after_a_pause_is_recorded_once_although_the_spec_has_changed(
    platform: Platform, new_tenant: NewTenant
) -> None:
    manifest = new_tenant("rested", plan="basic")
    platform.await_active(manifest)
    platform.apply({**manifest, "spec": {"plan": "pro", "paused": True}})
    platform.await_condition(manifest, "Paused")
    platform.remove("Role", "tenant-rested", "tenant-viewer")
    platform.await_condition(manifest, "Paused", "Drifted")
    platform.apply({**manifest, "spec": {"plan": "pro", "paused": False}})
    platform.await_condition(manifest, "Repaired", "Drifted")
    platform.await_active(manifest)
    *later, _first = (update.record for update in platform.stacks.history("rested"))
    repairs = [
        record.cause_type
        for record in later
        if record and ("Role", "tenant-viewer") in [(change.kind, change.name) for change in record.changes]
    ]
    assert repairs == [Cause.DRIFT]


def write_times(tenant: Manifest) -> dict[str, str]:
    """The time of the last write by each field manager."""
    return {entry["manager"]: entry["time"] for entry in tenant["metadata"]["managedFields"]}


def test_writer_within_the_second_of_another_write_is_known(
    platform: Platform, new_tenant: NewTenant
) -> None:
    manifest = new_tenant("hasty", paused=True)
    kind, plans = kind_of(manifest), cycle(("pro", "basic"))

    def tenant_after_two_writes_in_one_second() -> Manifest | None:
        spec = {"paused": True, "plan": next(plans)}
        before = platform.admin.apply({**manifest, "spec": spec}, field_manager="tenancy-cli", is_forced=True)
        patch = {"spec": {"displayName": spec["plan"]}}
        tenant = platform.admin.patch(kind, "hasty", patch, field_manager="kubectl-patch")
        times, times_before = write_times(tenant), write_times(before)
        # If the previous patch has the same time too, it is impossible to tell which manager has written.
        is_new = times_before.get("kubectl-patch") != times["kubectl-patch"]
        return tenant if is_new and times["tenancy-cli"] == times["kubectl-patch"] else None

    tenant = eventually(tenant_after_two_writes_in_one_second, "two writes have the same time")
    generation = tenant["metadata"]["generation"]

    def managers() -> dict[int, str]:
        status = (platform.tenant(manifest) or {}).get("status")
        return {change.generation: change.manager for change in changes_in(status)}

    eventually(lambda: generation in managers(), "the watcher has noted the change")
    assert [managers()[generation - 1], managers()[generation]] == ["tenancy-cli", "kubectl-patch"]


def test_new_spec_of_a_paused_tenant_is_not_applied_until_it_is_resumed(
    platform: Platform, new_tenant: NewTenant
) -> None:
    manifest = new_tenant("wait", plan="basic")
    platform.await_active(manifest)
    platform.apply({**manifest, "spec": {"plan": "pro", "paused": True}})
    ready = platform.await_condition(manifest, "Paused")
    assert ready["status"] == "False"
    assert ready["message"] == "the tenant is paused: a change is not applied yet"
    quota = platform.get("ResourceQuota", "tenant-wait", "tenant-quota")
    assert quota is not None
    assert quota["spec"]["hard"]["cpu"] == "500m"

    platform.apply({**manifest, "spec": {"plan": "pro", "paused": False}})
    platform.await_active(manifest)
    quota = platform.get("ResourceQuota", "tenant-wait", "tenant-quota")
    assert quota is not None
    assert quota["spec"]["hard"]["cpu"] == "4"


def test_nothing_is_created_for_a_tenant_that_starts_paused(
    platform: Platform, new_tenant: NewTenant
) -> None:
    manifest = new_tenant("unborn", paused=True)
    platform.await_condition(manifest, "Paused")
    assert platform.objects("unborn") == {}
    tenant = platform.tenant(manifest)
    assert tenant is not None
    assert "finalizers" not in tenant["metadata"]


def test_paused_tenant_is_deleted_only_when_it_is_resumed(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("stay", paused=False)
    platform.await_active(manifest)
    platform.apply({**manifest, "spec": {"paused": True}})
    platform.await_condition(manifest, "Paused")
    platform.delete(manifest)
    eventually(
        lambda: (platform.tenant(manifest) or {}).get("status", {}).get("phase") == "Terminating",
        "the tenant is Terminating",
    )
    ready = condition(platform.tenant(manifest) or {}, "Ready")
    assert (ready["reason"], ready["message"]) == (
        "Paused",
        "the tenant is paused; set spec.paused to false to delete it",
    )
    # The watcher keeps the namespaces, so the condition NamespaceReady is still true.
    assert platform.namespace("tenant-stay") is not None
    namespace_ready = condition(platform.tenant(manifest) or {}, "NamespaceReady")
    assert (namespace_ready["status"], namespace_ready["reason"]) == ("True", "Applied")
    platform.apply({**manifest, "spec": {"paused": False}})
    platform.await_gone(manifest)
