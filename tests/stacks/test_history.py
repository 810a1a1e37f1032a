"""The history of a stack contains the cause, the spec and the changes of each update."""

import json
from pathlib import Path
from typing import Any

import pytest

from stacks.command import PulumiProcess
from stacks.errors import StackNotFound
from stacks.history import updates_from_json
from stacks.operation import EngineName
from stacks.stack import Stacks
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.changes import UpdateRecord, object_changes
from tenancy.desired import DesiredState
from tenancy.spec.tenant_status import SpecChange
from tests.stacks.conftest import OpenStacks, desired, on_both_engines


def record(state: DesiredState, live: dict[ObjectKey, Manifest], **spec: Any) -> UpdateRecord:
    changes = object_changes(state, live)
    change = SpecChange(generation=1, time="2026-01-31T12:00:00Z", user="alice", message="\N{ROCKET} ${x}")
    return UpdateRecord(
        generation=1, written_by="kubectl", spec=spec, changes=changes, spec_changes=(change,)
    )


@on_both_engines
def test_each_update_keeps_its_cause_spec_and_changes(
    open_stacks: OpenStacks, tmp_path: Path, engine: EngineName
) -> None:
    stacks, _ = open_stacks()
    name = f"recorded-{engine}"
    basic, pro = desired(name), desired(name, plan="pro")
    first_record, second_record = record(basic, {}), record(pro, dict(basic.by_key), plan="pro")
    stacks.up(basic, "spec generation 1", first_record)
    stacks.up(pro, "spec generation 2", second_record)
    stacks.up(pro, "no record")

    # Another process can read the history while the first process holds the lock of its run folder.
    (tmp_path / "reader").mkdir()
    reader = Stacks(f"file://{tmp_path / 'state'}", tmp_path / "reader", PulumiProcess(timeout_s=60))
    third, second, first = reader.history(name)
    assert [update.version for update in (first, second, third)] == [1, 2, 3]
    assert [update.cause for update in (first, second)] == ["spec generation 1", "spec generation 2"]
    assert (first.record, second.record, third.record) == (first_record, second_record, None)
    assert first.counts == {"create": len(basic.manifests) + 2}
    assert (second.operation, second.result) == ("update", "succeeded")
    assert second.duration_s is not None
    assert second.started >= first.started
    stacks.destroy(name, "bye")
    with pytest.raises(StackNotFound):
        reader.history(name)


@on_both_engines
def test_special_characters_in_a_spec_are_kept(open_stacks: OpenStacks) -> None:
    name = "rocket \N{ROCKET} ${env:HOME} \"quoted\" 'so' \\n\u2028: #{} secure: v1:x"
    stacks, _ = open_stacks()
    state = desired("odd-text", displayName=name)
    expected = record(state, {}, displayName=name, more="\n\t\x7f\x85\x1b[31m")
    stacks.up(state, f"because of {name}", expected)
    (update,) = stacks.history("odd-text")
    assert update.record == expected


@pytest.mark.parametrize(
    ("record", "spec_changes", "user"),
    [
        pytest.param({}, None, None, id="by an earlier version"),
        pytest.param({}, [{"generation": 2, "time": "", "user": "alice"}], "alice", id="with an author"),
        pytest.param(
            {"later": 1, "changes": [{"operation": "create", "kind": "Role", "name": "r", "later": 1}]},
            [{"generation": 2, "time": "", "user": "alice", "later": 1}],
            "alice",
            id="by a later version",
        ),
        pytest.param({}, [{"later": 1}], None, id="with changes that cannot be read"),
    ],
)
def test_records_of_other_versions_are_read(
    record: dict[str, Any], spec_changes: list[Any] | None, user: str | None
) -> None:
    values = {"tenancy:update": {"generation": 2, "writtenBy": "kubectl", "spec": {"plan": "pro"}, **record}}
    if spec_changes is not None:
        values["tenancy:specChanges"] = spec_changes  # type: ignore[assignment]
    config = {key: {"value": json.dumps(value)} for key, value in values.items()}
    entry = {
        "kind": "update",
        "startTime": "2026-01-31T12:00:00.000Z",
        "result": "succeeded",
        "config": config,
    }
    (update,) = updates_from_json(json.dumps([entry]))
    assert update.record is not None
    assert (update.record.written_by, update.record.spec) == ("kubectl", {"plan": "pro"})
    change = update.record.spec_change
    assert (change.user if change else None) == user
