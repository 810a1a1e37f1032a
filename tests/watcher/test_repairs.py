"""The watcher repairs objects while a spec is rejected or a stack cannot be read.

It does not repair a paused tenant.
"""

import pytest

from tenancy.base.manifest import Manifest
from tests.checkpoint import stack_file
from tests.platform import NewTenant, Platform, condition
from tests.waiting import eventually
from tests.watcher.isolation import ALICE, await_isolation, break_isolation

UNREADABLE = "unreadable"


def test_edit_and_deletion_are_reverted_while_the_stack_cannot_be_read(
    platform: Platform, new_tenant: NewTenant
) -> None:
    """Every operation on the stack fails, and the delays between the retries increase."""
    manifest = new_tenant(f"kept-{UNREADABLE}", adminUsers=ALICE, namespaces=[{"name": "a"}])
    platform.await_active(manifest)
    checkpoint = stack_file(platform.folder / "state", f"kept-{UNREADABLE}")
    content = checkpoint.read_bytes()
    checkpoint.write_bytes(b"{")
    platform.apply({**manifest, "spec": {**manifest["spec"], "plan": "pro"}})
    platform.await_condition(manifest, "UpdateFailed")
    break_isolation(platform, UNREADABLE)
    await_isolation(platform, UNREADABLE)
    checkpoint.write_bytes(content)
    platform.apply(manifest)
    platform.await_active(manifest)


def test_repair_of_a_rejected_tenant_is_recorded_by_the_next_update(
    platform: Platform, new_tenant: NewTenant
) -> None:
    manifest = new_tenant("mended-later", adminUsers=ALICE)
    platform.await_active(manifest)
    platform.apply({**manifest, "spec": {"plan": "no-such-plan", "adminUsers": ALICE}})
    platform.await_condition(manifest, "UnknownPlan")
    platform.remove("NetworkPolicy", "tenant-mended-later", "default-deny-all")
    change = "NetworkPolicy tenant-mended-later/default-deny-all deleted"

    def drifted() -> Manifest:
        return condition(platform.tenant(manifest) or {}, "Drifted")

    eventually(lambda: change in drifted()["message"], "the status reports the repair")
    assert (drifted()["status"], drifted()["reason"]) == ("False", "Repaired")
    platform.apply(manifest)
    eventually(
        lambda: f"drift: {change}" in [update["message"] for update in platform.history("mended-later")],
        "the history has the repair",
    )


def test_repair_waits_for_a_backend_that_cannot_be_read(platform: Platform, new_tenant: NewTenant) -> None:
    """After a restart, only the stack contains the applied objects of a rejected tenant."""
    policy = ("NetworkPolicy", "tenant-unread", "default-deny-all")
    manifest = new_tenant("unread", adminUsers=ALICE)
    platform.await_active(manifest)
    platform.apply({**manifest, "spec": {"plan": "no-such-plan"}})
    platform.await_condition(manifest, "UnknownPlan")
    platform.stop()
    hidden = [
        stack_file(platform.folder / "state", "unread"),
        platform.stack_folder("history") / "tenancy" / "tenant-unread",
    ]
    for path in hidden:
        path.rename(path.with_name(f"{path.name}.hidden"))
    platform.remove(*policy)
    platform.start()
    eventually(
        lambda: "drift is not repaired" in condition(platform.tenant(manifest) or {}, "Ready")["message"],
        "the status says that nothing is repaired",
    )
    assert platform.get(*policy) is None
    for path in hidden:
        path.with_name(f"{path.name}.hidden").rename(path)
    eventually(lambda: platform.get(*policy), "the policy is back")


@pytest.mark.parametrize("plan", ["basic", "no-such-plan"])
def test_nothing_of_a_paused_tenant_is_repaired(platform: Platform, new_tenant: NewTenant, plan: str) -> None:
    """The result is the same for an accepted spec and for a rejected spec."""
    name = f"paused-{plan}"
    policy = ("NetworkPolicy", f"tenant-{name}", "default-deny-all")
    manifest = new_tenant(name)
    platform.await_active(manifest)
    platform.apply({**manifest, "spec": {"paused": True, "plan": plan}})
    platform.await_condition(manifest, "Paused" if plan == "basic" else "UnknownPlan")
    platform.remove(*policy)
    platform.stop()
    platform.start()
    # The queue keeps the order. So the watcher reconciles the paused tenant before it reconciles this new
    # tenant.
    platform.await_active(new_tenant(f"after-{name}"))
    assert platform.get(*policy) is None
    platform.apply(manifest)
    eventually(lambda: platform.get(*policy), "the policy is back")
