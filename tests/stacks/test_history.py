"""History of a stack: cause, spec and changes of each update."""

from pathlib import Path
from typing import Any

import pytest

from stacks.command import PulumiProcess
from stacks.errors import StackNotFound
from stacks.stack import Stacks
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.changes import UpdateRecord, object_changes
from tenancy.desired import DesiredState, desired_state
from tenancy.plans import read_plans
from tenancy.spec.tenant import tenant_from_manifest
from tests.stacks.conftest import OpenStacks


def desired(name: str, **spec: Any) -> DesiredState:
    return desired_state(tenant_from_manifest({"metadata": {"name": name}, "spec": spec}), read_plans())


def record(state: DesiredState, live: dict[ObjectKey, Manifest], **spec: Any) -> UpdateRecord:
    changes = object_changes(state, live)
    return UpdateRecord(generation=1, written_by="kubectl", spec=spec, changes=changes)


def test_each_update_keeps_its_cause_spec_and_changes(open_stacks: OpenStacks, tmp_path: Path) -> None:
    stacks, _ = open_stacks()
    basic, pro = desired("recorded"), desired("recorded", plan="pro")
    first_record, second_record = record(basic, {}), record(pro, dict(basic.by_key), plan="pro")
    stacks.up(basic, "spec generation 1", first_record)
    stacks.up(pro, "spec generation 2", second_record)
    stacks.up(pro, "no record")

    # Reading the history works beside the process that holds the run folder.
    (tmp_path / "reader").mkdir()
    reader = Stacks(f"file://{tmp_path / 'state'}", tmp_path / "reader", PulumiProcess(timeout_s=60))
    third, second, first = reader.history("recorded")
    assert [update.version for update in (first, second, third)] == [1, 2, 3]
    assert [update.cause for update in (first, second)] == ["spec generation 1", "spec generation 2"]
    assert (first.record, second.record, third.record) == (first_record, second_record, None)
    assert first.counts == {"create": len(basic.manifests) + 2}
    assert (second.operation, second.result) == ("update", "succeeded")
    assert second.duration_s is not None
    assert second.started >= first.started
    stacks.destroy("recorded", "bye")
    with pytest.raises(StackNotFound):
        reader.history("recorded")


def test_special_characters_in_a_spec_are_kept(open_stacks: OpenStacks) -> None:
    name = "rocket \N{ROCKET} ${env:HOME} \"quoted\" 'so' \\n\u2028: #{} secure: v1:x"
    stacks, _ = open_stacks()
    state = desired("odd-text", displayName=name)
    expected = record(state, {}, displayName=name, more="\n\t\x7f\x85\x1b[31m")
    stacks.up(state, f"because of {name}", expected)
    (update,) = stacks.history("odd-text")
    assert update.record == expected
    stacks.destroy("odd-text", "bye")
