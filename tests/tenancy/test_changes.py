"""The changes of objects and fields. A preview shows them, and the history records them."""

from typing import Any

import pytest

from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.changes import FieldChange, Operation, UpdateRecord, object_changes
from tenancy.desired import DesiredState, desired_state
from tenancy.plans import read_plans
from tenancy.spec.tenant import tenant_from_manifest


def desired(**spec: Any) -> DesiredState:
    return desired_state(tenant_from_manifest({"metadata": {"name": "acme"}, "spec": spec}), read_plans())


def live_objects(state: DesiredState) -> dict[ObjectKey, Manifest]:
    return dict(state.by_key)


def test_a_new_tenant_is_all_creates() -> None:
    state = desired()
    changes = object_changes(state, {})
    assert [change.key for change in changes] == list(state.by_key)
    assert {change.operation for change in changes} == {Operation.CREATE}


def test_nothing_changes_where_all_is_as_desired() -> None:
    assert object_changes(desired(), live_objects(desired())) == ()


def test_a_changed_object_tells_each_field_before_and_after() -> None:
    before, after = desired(adminUsers=["alice"]), desired(adminUsers=["bob"], displayName="Acme")
    changes = {change.key: change for change in object_changes(after, live_objects(before))}
    binding = changes[ObjectKey("RoleBinding", "tenant-acme", "tenant-admin")]
    assert binding.fields == (FieldChange(path="subjects[0].name", before="alice", after="bob"),)
    namespace = changes[ObjectKey("Namespace", "", "tenant-acme")]
    assert namespace.fields == (
        FieldChange(path="metadata.annotations.platform.ai/display-name", before=None, after="Acme"),
    )
    assert {change.operation for change in changes.values()} == {Operation.UPDATE}


@pytest.mark.parametrize(
    ("policy", "operation"), [("Delete", Operation.DELETE), ("Retain", Operation.RELEASE)]
)
def test_what_is_no_longer_wanted_is_deleted(policy: str, operation: Operation) -> None:
    """With the deletion policy `Retain`, the namespace is released and not deleted."""
    before = desired(namespaces=[{"name": "dev"}, {"name": "prod"}])
    after = desired(namespaces=[{"name": "dev"}], deletionPolicy=policy)
    deletions = {key: Operation.DELETE for key in before.by_key if "tenant-acme-prod" in key}
    assert {change.key: change.operation for change in object_changes(after, live_objects(before))} == {
        **deletions,
        ObjectKey("Namespace", "", "tenant-acme-prod"): operation,
    }


def terminating(manifest: Manifest) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "deletionTimestamp": "now"}}


def test_what_is_being_deleted_counts_as_gone() -> None:
    state = desired()
    key = ObjectKey("Role", "tenant-acme", "tenant-admin")
    (change,) = object_changes(state, {**live_objects(state), key: terminating(state.by_key[key])})
    assert (change.key, change.operation) == (key, Operation.CREATE)


def test_what_is_in_a_namespace_that_is_being_deleted_counts_as_gone() -> None:
    before = desired(namespaces=[{"name": "dev"}, {"name": "prod"}])
    key = ObjectKey("Namespace", "", "tenant-acme-prod")
    live = {**live_objects(before), key: terminating(before.by_key[key])}
    assert object_changes(desired(namespaces=[{"name": "dev"}]), live) == ()
    operations = {change.key: change.operation for change in object_changes(before, live)}
    assert operations[ObjectKey("Role", "tenant-acme-prod", "tenant-admin")] == Operation.CREATE
    assert {key.namespace or key.name for key in operations} == {"tenant-acme-prod"}


def test_a_record_reads_back_as_it_was_written() -> None:
    changes = object_changes(desired(plan="pro"), live_objects(desired()))
    record = UpdateRecord(generation=2, written_by="kubectl", spec={"plan": "pro"}, changes=changes)
    assert UpdateRecord.model_validate_json(record.model_dump_json(by_alias=True)) == record
