"""The applied version of an object before, during and after an update.

A changed object is restored to this version.
"""

import pytest

from stacks.applied_objects import half_done_objects
from stacks.errors import StackBusy, StackError
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.desired import DesiredState
from watcher.reconciler.last_applied import Applied, LastApplied

ROLE = ObjectKey("Role", "tenant-a", "tenant-viewer")
QUOTA = ObjectKey("ResourceQuota", "tenant-a", "tenant-quota")


def role(verb: str) -> Manifest:
    metadata = {"name": ROLE.name, "namespace": ROLE.namespace}
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": [verb]}]
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": metadata,
        "rules": rules,
    }


def quota(**hard: str) -> Manifest:
    metadata = {"name": QUOTA.name, "namespace": QUOTA.namespace}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": hard}}


def state(*manifests: Manifest) -> DesiredState:
    return DesiredState("a", manifests)


def test_edited_and_deleted_object_is_restored() -> None:
    applied = Applied({ROLE: role("get")})
    assert applied.to_restore(ROLE, role("get")) is None
    assert applied.to_restore(ROLE, role("delete")) == role("get")
    assert applied.to_restore(ROLE, None) == role("get")
    assert applied.to_restore(QUOTA, quota(cpu="1")) is None


def test_nothing_is_restored_while_the_applied_objects_are_unknown() -> None:
    unknown = Applied(None, {ROLE: role("get")})
    assert unknown.to_restore(ROLE, role("delete")) is None
    assert unknown.to_restore(ROLE, None) is None


def test_object_can_have_the_old_or_the_new_version_during_an_update() -> None:
    applied = Applied({ROLE: role("get")}, {ROLE: role("list")})
    assert applied.to_restore(ROLE, role("get")) is None
    assert applied.to_restore(ROLE, role("list")) is None
    assert applied.to_restore(ROLE, role("delete")) == role("get")
    assert applied.to_restore(ROLE, None) == role("get")


def test_object_that_an_update_adds_or_removes_can_be_absent() -> None:
    assert Applied({ROLE: role("get")}, {}).to_restore(ROLE, None) is None
    assert Applied({}, {ROLE: role("get")}).to_restore(ROLE, None) is None
    assert Applied({}, {ROLE: role("get")}).to_restore(ROLE, role("delete")) == role("get")


def test_quota_is_restored_with_the_lower_limits_during_an_update() -> None:
    applied = Applied({QUOTA: quota(cpu="8", memory="1Gi")}, {QUOTA: quota(cpu="2", memory="4Gi")})
    lowest = quota(cpu="2", memory="1Gi")
    assert applied.to_restore(QUOTA, quota(cpu="64", memory="4Gi")) == lowest
    assert applied.to_restore(QUOTA, lowest) is None


def test_successful_update_becomes_the_applied_state() -> None:
    applied = LastApplied()
    applied.put(state(role("get")))
    with applied.updating(state(role("list"))):
        assert (entry := applied.get("a")) is not None
        assert (entry.objects, entry.next_objects) == ({ROLE: role("get")}, {ROLE: role("list")})
    assert applied.get("a") == Applied({ROLE: role("list")}, has_budget=False)


@pytest.mark.parametrize(("error", "is_half_done"), [(StackError, True), (StackBusy, False)])
def test_failed_update_leaves_both_versions(error: type[StackError], is_half_done: bool) -> None:
    applied = LastApplied()
    applied.put(state(role("get")))

    def update() -> None:
        with applied.updating(state(role("list"))):
            raise error("failed")

    with pytest.raises(error):
        update()
    assert (entry := applied.get("a")) is not None
    assert (entry.is_half_done, entry.is_known) == (is_half_done, not is_half_done)
    assert entry.to_restore(ROLE, role("list")) is None


def test_paused_tenant_keeps_its_applied_objects_but_restores_none() -> None:
    applied = LastApplied()
    applied.put(state(role("get")))
    assert applied.set_paused("a", True).to_restore(ROLE, None) is None
    assert applied.objects("a") == {ROLE: role("get")}
    assert applied.set_paused("a", False).to_restore(ROLE, None) == role("get")


def test_objects_of_a_tenant_that_is_paused_after_a_locked_stack_are_read_again() -> None:
    applied = LastApplied()
    applied.put(state(role("get")))
    with pytest.raises(StackBusy), applied.updating(state(role("list"))):
        raise StackBusy("locked")
    assert not applied.set_paused("a", True).is_known
    assert applied.objects("a") is None


def test_exchange_fails_if_the_tenant_was_forgotten_meanwhile() -> None:
    applied = LastApplied()
    before = applied.get("a")
    applied.forget("a")
    assert not applied.exchange("a", before, Applied({ROLE: role("get")}))
    assert applied.exchange("a", applied.get("a"), Applied({ROLE: role("get")}))


def test_state_shows_which_objects_a_failed_update_has_changed() -> None:
    before, after = {ROLE: role("get")}, {ROLE: role("list")}
    assert half_done_objects({ROLE: role("list")}, before, after) == after
    assert half_done_objects({ROLE: role("get")}, before, after) == before


def test_edit_that_a_refresh_has_copied_into_the_state_is_not_applied() -> None:
    before, after = {ROLE: role("get")}, {ROLE: role("list")}
    assert half_done_objects({ROLE: role("delete")}, before, after) == before
    assert half_done_objects({ROLE: role("delete")}, None, after) == after


def test_object_that_a_refresh_has_removed_from_the_state_is_applied() -> None:
    before, after = {ROLE: role("get")}, {ROLE: role("list"), QUOTA: quota(cpu="1")}
    assert half_done_objects({}, before, after) == before
    # The update has deleted the Role, and has not created the ResourceQuota yet.
    assert half_done_objects({}, {ROLE: role("get")}, {QUOTA: quota(cpu="1")}) == {}


def test_nothing_is_applied_if_the_first_update_has_created_nothing() -> None:
    """Otherwise, the watcher would create the objects of a rejected tenant."""
    assert half_done_objects({}, None, {ROLE: role("get")}) == {}


def test_state_is_used_if_neither_spec_is_known() -> None:
    assert half_done_objects({ROLE: role("get")}, None, None) == {ROLE: role("get")}
