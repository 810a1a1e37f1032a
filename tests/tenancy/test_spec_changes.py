"""The spec changes in a Tenant's status, and the entries of the history for these changes."""

from datetime import UTC, datetime
from typing import Any

from stacks.history import Update
from tenancy.base.manifest import Manifest
from tenancy.changes import Cause, ObjectChange, Operation, UpdateRecord
from tenancy.history.spec_changes import (
    changes_in,
    noted_changes,
    unrecorded_changes,
    with_changes,
    with_result,
)
from tenancy.spec.tenant_status import SpecChange, SpecResult
from watcher.history_view import UpdateView, history_view

NOW = "2026-01-31T12:00:00Z"


def tenant(generation: int, status: Manifest | None = None, **spec: Any) -> Manifest:
    metadata = {"name": "acme", "uid": "u-1", "generation": generation}
    return {"metadata": metadata, "spec": {"plan": "pro", **spec}, **({"status": status} if status else {})}


def noted(generation: int, status: Manifest | None = None, *earlier: int) -> Manifest:
    """The status after the watcher has recorded this generation and the earlier generations."""
    versions = [(None, tenant(each)) for each in earlier]
    return with_changes(status or {}, noted_changes(tenant(generation, status), versions, NOW))


def generations(status: Manifest) -> list[int]:
    return [change.generation for change in changes_in(status)]


def results(status: Manifest) -> list[SpecResult]:
    return [change.result for change in changes_in(status)]


def test_each_generation_is_noted_once() -> None:
    status = noted(3, None, 1, 2)
    assert generations(status) == [1, 2, 3]
    assert noted(3, status, 2, 3) == status
    assert generations(noted(5, status, 4)) == [1, 2, 3, 4, 5]


def test_spec_that_an_earlier_version_of_the_watcher_has_applied_is_not_noted() -> None:
    assert noted(4, {"observedGeneration": 4}) == {"observedGeneration": 4}
    assert generations(noted(5, {"observedGeneration": 4})) == [5]


def test_the_newest_thirty_changes_are_kept() -> None:
    assert generations(noted(40, None, *range(1, 40))) == list(range(11, 41))


def test_successful_update_keeps_only_the_newest_change() -> None:
    status = with_result(noted(2), tenant(2), SpecResult.PAUSED)
    status = noted(3, status)
    assert [change.generation for change in unrecorded_changes(status)] == [2, 3]
    status = with_result(status, tenant(3), SpecResult.APPLIED)
    assert (generations(status), unrecorded_changes(status)) == ([3], ())


def test_rejected_spec_is_kept_with_its_reason() -> None:
    status = with_result(
        noted(2), tenant(2, plan="none"), SpecResult.REJECTED, "UnknownPlan", "spec.plan: no"
    )
    (change,) = changes_in(status)
    assert (change.reason, change.detail, change.spec) == ("UnknownPlan", "spec.plan: no", {"plan": "none"})
    # The same spec is accepted later, for example because the plan was added.
    (change,) = changes_in(with_result(status, tenant(2), SpecResult.APPLIED))
    assert (change.result, change.reason, change.spec) == (SpecResult.APPLIED, "", None)
    long = with_result(noted(2), tenant(2, displayName="x" * 9000), SpecResult.REJECTED, "InvalidSpec", "no")
    assert changes_in(long)[0].spec is None


def test_later_failure_does_not_change_the_result_of_an_applied_spec() -> None:
    status = with_result(noted(2), tenant(2), SpecResult.APPLIED)
    for result in (SpecResult.FAILED, SpecResult.REJECTED, SpecResult.UNCHANGED):
        assert with_result(status, tenant(2), result, "StackFailed", "no") == status


def test_result_of_a_spec_that_was_not_noted_is_ignored() -> None:
    assert with_result({}, tenant(2), SpecResult.APPLIED) == {}
    assert results(with_result(noted(2), tenant(3), SpecResult.APPLIED)) == [SpecResult.PENDING]


def test_entry_that_cannot_be_read_is_left_out() -> None:
    later = {"generation": 3, "time": NOW, "result": "LaterResult"}
    assert generations({"specChanges": [*noted(2)["specChanges"], later]}) == [2]


def change(
    generation: int, user: str = "", result: SpecResult = SpecResult.PENDING, **fields: Any
) -> SpecChange:
    return SpecChange(generation=generation, time=NOW, user=user, result=result, **fields)


def update(version: int, generation: int, *changes: SpecChange, cause: Cause = Cause.SPEC) -> Update:
    record = UpdateRecord(
        cause_type=cause,
        generation=generation,
        written_by="kubectl",
        spec={"plan": "pro"},
        changes=tuple(
            ObjectChange(operation=Operation.CREATE, kind="Role", name=name) for name in ("one", "two")
        ),
        spec_changes=changes,
    )
    started = datetime(2026, 1, 31, tzinfo=UTC)
    return Update(version, "update", "why", "succeeded", started, 1.0, {"create": 1, "same": 3}, record)


def rows(entries: list[UpdateView]) -> list[tuple[int | None, str, str]]:
    return [(entry.version, entry.by, entry.result) for entry in entries]


def test_changes_before_an_update_have_their_own_entries() -> None:
    paused = change(2, "alice", SpecResult.PAUSED)
    rejected = change(3, "bob", SpecResult.REJECTED, reason="UnknownPlan")
    entries = history_view([update(2, 4, paused, rejected, change(4, "carol")), update(1, 1)])
    assert rows(entries) == [
        (2, "carol", "succeeded"),
        (None, "bob", "rejected"),
        (None, "alice", "in update 2"),
        (1, "unknown, via manager kubectl", "succeeded"),
    ]


def test_changes_of_a_repeated_update_are_shown_once() -> None:
    changes = (change(2, "alice"), change(3, "bob"))
    entries = history_view([update(2, 3, *changes), update(1, 3, *changes)], changes)
    assert rows(entries) == [(2, "bob", "succeeded"), (1, "bob", "succeeded"), (None, "alice", "in update 1")]


def test_changes_of_a_restored_tenant_are_shown_although_their_generations_are_not_new() -> None:
    restored = change(1, "bob").model_copy(update={"time": "2026-02-01T12:00:00Z"})
    entries = history_view([update(1, 1, change(1, "alice"))], [restored])
    assert rows(entries) == [(None, "bob", "pending"), (1, "alice", "succeeded")]


def test_update_with_another_cause_has_no_author_but_records_changes() -> None:
    # The tenant was paused and resumed. The next update recorded a drift repair. It applied neither of the
    # two changes.
    changes = (change(2, "alice", SpecResult.PAUSED), change(3, "bob", SpecResult.UNCHANGED))
    entries = history_view([update(2, 3, *changes, cause=Cause.DRIFT)])
    assert rows(entries) == [(2, "", "succeeded"), (None, "bob", "no changes"), (None, "alice", "paused")]


def test_unrecorded_changes_come_first() -> None:
    entries = history_view([update(1, 1, change(1, "alice"))], [change(2, "bob"), change(3, "carol")])
    assert rows(entries)[:2] == [(None, "carol", "pending"), (None, "bob", "superseded")]


def test_counts_are_those_of_the_displayed_changes() -> None:
    (entry,) = history_view([update(1, 1)])
    assert entry.counts == {"create": 2} == {"create": len(entry.changes)}


def test_counts_of_an_update_by_hand_come_from_pulumi() -> None:
    by_hand = Update(
        1,
        "update",
        "why",
        "succeeded",
        datetime(2026, 1, 31, tzinfo=UTC),
        1.0,
        {"same": 3, "replace": 1},
        None,
    )
    (entry,) = history_view([by_hand])
    assert entry.counts == {"update": 1}
