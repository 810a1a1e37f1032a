"""The history of a tenant that the web page, `tenancy history` and `tenancy show` display. No I/O.

The history contains the Pulumi updates of the tenant's stack. It also contains the changes to the Tenant's
spec that have no update of their own. For example, the watcher rejected the spec, or a user changed the spec
again before the watcher ran an update.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from tenancy.base.model import Model
from tenancy.changes import Cause, ObjectChange, Operation
from tenancy.history.spec_author import author_text, unknown_author_text
from tenancy.spec.tenant_status import SpecChange, SpecResult

if TYPE_CHECKING:
    from stacks.history import Update

# `UpdateView.operation` of a change to the spec that has no update of its own.
NO_UPDATE: Final = "none"
# The operations of Pulumi that change objects, and how the history shows each of them.
_PULUMI_OPERATIONS: Final = {
    "create": Operation.CREATE,
    "update": Operation.UPDATE,
    "replace": Operation.UPDATE,
    "delete": Operation.DELETE,
}
_RESULTS: Final = {
    SpecResult.PENDING: "pending",
    SpecResult.APPLIED: "succeeded",
    SpecResult.UNCHANGED: "no changes",
    SpecResult.REJECTED: "rejected",
    SpecResult.FAILED: "failed",
    SpecResult.PAUSED: "paused",
}


class UpdateView(Model):
    """An entry of the history: a Pulumi update, or a change to the spec that has no update of its own."""

    # The number of the update. None if the entry is a change to the spec without an update.
    version: int | None
    operation: str
    cause: str
    # None if the watcher did not run the update.
    cause_type: Cause | None = None
    # The author of the spec. Empty if the cause of the update is not a new spec.
    by: str = ""
    message: str = ""
    commit: str = ""
    result: str
    # Why a change to the spec is not applied.
    reason: str = ""
    detail: str = ""
    started: str
    duration_s: float | None
    # The number of changed objects for each operation, e.g. {"create": 3}.
    counts: dict[str, int]
    changes: tuple[ObjectChange, ...] = ()
    spec: dict[str, Any] | None = None


def history_view(updates: Iterable["Update"], unrecorded: Iterable[SpecChange] = ()) -> list[UpdateView]:
    """All entries of the history, newest first.

    `updates` are the Pulumi updates of the stack. `unrecorded` are the changes to the spec that only the
    Tenant's status contains, oldest first.
    """
    entries: list[UpdateView] = []
    shown: set[tuple[int, str]] = set()
    for update in sorted(updates, key=lambda update: update.version):
        changes = update.record.spec_changes if update.record else ()
        own = update.record.spec_change if update.record else None
        others = [change for change in changes if change is not own and _key(change) not in shown]
        # An update with another cause, such as drift, records earlier changes but does not apply them.
        entries += (
            [_change_view(change, f"in update {update.version}") for change in others]
            if own
            else _views_without_update(others)
        )
        entries.append(update_view(update))
        shown.update(map(_key, changes))
    entries += _views_without_update([change for change in unrecorded if _key(change) not in shown])
    return entries[::-1]


def _key(change: SpecChange) -> tuple[int, str]:
    """A key that identifies a change. Two updates can record the same change, for example after a retry.

    The generation alone is not unique: a Tenant that is restored from a backup starts again at generation 1.
    """
    return change.generation, change.time


def _views_without_update(changes: Sequence[SpecChange]) -> list[UpdateView]:
    """The entries of changes to the spec that no update has applied. `changes` are oldest first.

    The result "superseded" means that the spec changed again before the result of this change was known.
    """
    return [
        _change_view(change, "superseded" if change.result is SpecResult.PENDING else "")
        for change in changes[:-1]
    ] + [_change_view(change, "") for change in changes[-1:]]


def update_view(update: "Update") -> UpdateView:
    record = update.record
    change = record.spec_change if record else None
    by = ""
    if record and record.cause_type is Cause.SPEC:
        by = author_text(change) if change else unknown_author_text(record.written_by)
    return UpdateView(
        version=update.version,
        operation=update.operation,
        cause=update.cause,
        cause_type=record.cause_type if record else None,
        by=by,
        message=change.message if change else "",
        commit=change.commit if change else "",
        result=update.result,
        started=update.started.isoformat(),
        duration_s=update.duration_s,
        counts=_change_counts(record.changes) if record else _pulumi_counts(update.counts),
        changes=record.changes if record else (),
        spec=record.spec if record else None,
    )


def _change_view(change: SpecChange, result: str) -> UpdateView:
    """The entry of a change to the spec.

    If `result` is not empty, the entry shows `result` instead of the result in `change`. The exception is a
    change that was rejected or that changed no object: its entry always shows the result in `change`.
    """
    is_final = change.result in (SpecResult.REJECTED, SpecResult.UNCHANGED)
    return UpdateView(
        version=None,
        operation=NO_UPDATE,
        cause=f"spec generation {change.generation}",
        cause_type=Cause.SPEC,
        by=author_text(change),
        message=change.message,
        commit=change.commit,
        result=result if result and not is_final else _RESULTS[change.result],
        reason=change.reason,
        detail=change.detail,
        started=change.time,
        duration_s=None,
        counts={},
        spec=change.spec,
    )


def _change_counts(changes: Iterable[ObjectChange]) -> dict[str, int]:
    """The number of changed objects for each operation."""
    return dict(Counter(change.operation.value for change in changes))


def _pulumi_counts(counts: Mapping[str, int]) -> dict[str, int]:
    """The number of changed objects for each operation, converted from the counts that Pulumi reports."""
    shown: Counter[str] = Counter()
    for name, operation in _PULUMI_OPERATIONS.items():
        shown[operation.value] += counts.get(name, 0)
    return dict(+shown)
