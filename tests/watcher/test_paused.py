"""`paused: true`: a tenant is left as it is, and what differs is told."""

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
    told = platform.await_condition(manifest, "Paused", "Drifted")
    assert told["status"] == "True"
    assert told["message"] == "Role tenant-rest/tenant-viewer deleted"
    assert platform.get("Role", "tenant-rest", "tenant-viewer") is None

    platform.apply({**manifest, "spec": {"plan": "basic", "paused": False}})
    platform.await_condition(manifest, "Repaired", "Drifted")
    assert platform.get("Role", "tenant-rest", "tenant-viewer") is not None


def test_paused_tenant_takes_no_new_spec_until_it_is_resumed(
    platform: Platform, new_tenant: NewTenant
) -> None:
    manifest = new_tenant("wait", plan="basic")
    platform.await_active(manifest)
    platform.apply({**manifest, "spec": {"plan": "pro", "paused": True}})
    told = platform.await_condition(manifest, "Paused")
    assert told["status"] == "False"
    assert told["message"] == "the tenant is paused: a change waits to be applied"
    quota = platform.get("ResourceQuota", "tenant-wait", "tenant-quota")
    assert quota is not None
    assert quota["spec"]["hard"]["cpu"] == "500m"

    platform.apply({**manifest, "spec": {"plan": "pro", "paused": False}})
    platform.await_active(manifest)
    quota = platform.get("ResourceQuota", "tenant-wait", "tenant-quota")
    assert quota is not None
    assert quota["spec"]["hard"]["cpu"] == "4"


def test_nothing_is_made_for_a_tenant_that_starts_paused(platform: Platform, new_tenant: NewTenant) -> None:
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
    told = condition(platform.tenant(manifest) or {}, "Ready")
    assert (told["reason"], told["message"]) == (
        "Paused",
        "the tenant is paused; set spec.paused to false to delete it",
    )
    assert platform.namespace("tenant-stay") is not None
    platform.apply({**manifest, "spec": {"paused": False}})
    platform.await_gone(manifest)
