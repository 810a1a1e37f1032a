"""The writer of a spec is the field manager that owns the changed fields, or is unknown."""

from typing import Any

import pytest

from tenancy.base.manifest import Manifest
from tenancy.history.spec_writer import spec_writer

EARLY, LATE = "2026-01-31T12:00:00Z", "2026-01-31T12:00:01Z"


def entry(manager: str, time: str = EARLY, **fields: Any) -> Manifest:
    owned = {f"f:{name}": value for name, value in fields.items()}
    return {"manager": manager, "operation": "Update", "time": time, "fieldsV1": {"f:spec": owned}}


def tenant(spec: Manifest, *entries: Manifest) -> Manifest:
    return {"metadata": {"name": "acme", "managedFields": list(entries)}, "spec": spec}


def writer(after: Manifest, before: Manifest | None = None) -> str:
    name: str = spec_writer(after, before).get("manager", "")
    return name


def test_owner_of_the_changed_field_is_the_writer_although_all_times_are_equal() -> None:
    before = tenant({"plan": "basic"}, entry("apply", plan={}))
    changed = tenant({"plan": "pro"}, entry("apply"), entry("patch", plan={}))
    assert writer(changed, before) == "patch"
    added = tenant({"plan": "basic", "name": "a"}, entry("apply", plan={}), entry("patch", name={}))
    assert writer(added, before) == "patch"
    # The writer is unknown, because all times are equal and there is no previous version.
    assert writer(added) == ""


def test_nested_fields_have_their_own_owners() -> None:
    quotas = [entry("a", resourceQuotas={"f:cpu": {}}), entry("b", resourceQuotas={"f:memory": {}})]
    before = tenant({"resourceQuotas": {"cpu": "1", "memory": "1Gi"}}, *quotas)
    after = tenant({"resourceQuotas": {"cpu": "1", "memory": "2Gi"}}, *quotas)
    assert writer(after, before) == "b"


def test_shared_field_was_written_by_the_manager_whose_entry_is_new() -> None:
    before = tenant({"plan": "basic"}, entry("a", plan={}))
    after = tenant({"plan": "pro"}, entry("a", plan={}), entry("b", plan={}))
    assert writer(after, before) == "b"
    assert writer(tenant({"plan": "max"}, *after["metadata"]["managedFields"]), after) == ""


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        # The field was removed from the entry of `a` by a manager that the API server does not record.
        ([entry("a", plan={}), entry("b", name={})], ""),
        ([entry("a", LATE, plan={}), entry("b", name={})], "a"),
        ([entry("a", plan={}), entry("b", name={}), entry("c", LATE)], "c"),
    ],
)
def test_removed_field_was_removed_by_the_manager_with_a_new_time(
    entries: list[Manifest], expected: str
) -> None:
    before = tenant({"plan": "pro", "userId": "u"}, entry("a", plan={}, userId={}), entry("b", name={}))
    assert writer(tenant({"plan": "pro"}, *entries), before) == expected


def test_default_of_the_api_server_has_no_owner() -> None:
    before = tenant({"plan": "pro"}, entry("a", plan={}), entry("b", name={}))
    after = tenant({"plan": "basic"}, entry("a", LATE), entry("b", name={}))
    assert writer(after, before) == "a"


def test_without_the_previous_version_the_newest_manager_is_the_writer() -> None:
    assert writer(tenant({}, entry("a"), entry("b", LATE))) == "b"
    assert writer(tenant({})) == ""
