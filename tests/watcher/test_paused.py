"""`paused: true`: the watcher changes nothing, and the status reports drift and pending changes."""

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


def test_new_spec_of_a_paused_tenant_is_not_applied_until_it_is_resumed(
    platform: Platform, new_tenant: NewTenant
) -> None:
    manifest = new_tenant("wait", plan="basic")
    platform.await_active(manifest)
    platform.apply({**manifest, "spec": {"plan": "pro", "paused": True}})
    ready = platform.await_condition(manifest, "Paused")
    assert ready["status"] == "False"
    assert ready["message"] == "the tenant is paused: a change waits to be applied"
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
    assert platform.namespace("tenant-stay") is not None
    platform.apply({**manifest, "spec": {"paused": False}})
    platform.await_gone(manifest)
