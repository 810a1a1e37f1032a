"""If `protected` is true, the watcher does not delete the objects of a Tenant that is being deleted.

`tests/admission` tests that the API server rejects the deletion.
"""

from tests.platform import NewTenant, Platform
from tests.waiting import eventually


def test_status_says_that_a_tenant_is_protected(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("safe", protected=True)
    assert platform.await_active(manifest)["status"]["protected"] is True
    platform.apply({**manifest, "spec": {"protected": False}})
    eventually(
        lambda: (platform.tenant(manifest) or {})["status"]["protected"] is False,
        "the status says that it is not protected",
    )


def test_protected_tenant_that_is_being_deleted_keeps_everything(
    platform: Platform, new_tenant: NewTenant
) -> None:
    manifest = new_tenant("shielded")
    platform.await_active(manifest)
    # Delete the Tenant, and then protect it. At this time, admission can no longer reject the deletion.
    platform.stop()
    platform.delete(manifest)
    platform.apply({**manifest, "spec": {"protected": True}})
    platform.start()
    ready = platform.await_condition(manifest, "Protected")
    assert ready["message"] == "the tenant is protected; set spec.protected to false to delete it"
    namespace = platform.namespace("tenant-shielded")
    assert namespace is not None
    assert "deletionTimestamp" not in namespace["metadata"]

    platform.apply({**manifest, "spec": {"protected": False}})
    platform.await_gone(manifest)
    assert platform.namespace("tenant-shielded") is None
