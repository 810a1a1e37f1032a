"""Converts the history of a stack, in the format of `pulumi stack history --json`, to Update objects."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from stacks.project import NUMBER_KEY, RECORD_KEY, SPEC_CHANGES_KEY
from tenancy.changes import UpdateRecord
from tenancy.spec.tenant_status import SpecChange

# The cause of an update without a message, such as a `pulumi up` by hand. In a git checkout, every update has
# a message, because the CLI uses the message of the newest commit by default.
_BY_HAND: Final = "by hand"
_SPEC_CHANGES: Final = TypeAdapter(tuple[SpecChange, ...])


@dataclass(frozen=True)
class Update:
    """One update in a stack's history."""

    version: int
    operation: str
    cause: str
    result: str
    started: datetime
    duration_s: float | None
    counts: Mapping[str, int]
    # The record that the watcher has stored with the update: the spec and the changes to objects. None if the
    # watcher did not run the update.
    record: UpdateRecord | None


def updates_from_json(text: str) -> list[Update]:
    """The updates in the output of `pulumi stack history --json`, newest first."""
    return updates_from_entries(json.loads(text))


def updates_from_entries(entries: Sequence[Mapping[str, Any]]) -> list[Update]:
    """The updates of a stack, newest first. `entries` has the format of `pulumi stack history --json`.

    Only the Pulumi service stores version numbers. For other backends, this function numbers the updates from
    the oldest to the newest.
    """
    newest = newest_number(entries)
    return [_update(entry, newest - index) for index, entry in enumerate(entries)]


def newest_number(entries: Sequence[Mapping[str, Any]]) -> int:
    """The number of a stack's newest update. 0 if there are no updates.

    `entries` contains the stack's updates, newest first.
    """
    if not entries:
        return 0
    return entries[0].get("version") or _oldest_number(entries[-1].get("config") or {}) + len(entries) - 1


def _oldest_number(config: Mapping[str, Mapping[str, Any]]) -> int:
    """The number of the oldest update in a stack's history. `config` is the configuration of this update.

    If even older updates were pruned, the configuration contains the number. Otherwise, the number is 1. The
    configuration of a later update can contain a wrong number: `pulumi config refresh` copies the
    configuration of an earlier update into the stack's settings file.
    """
    text = str(config.get(NUMBER_KEY, {}).get("value") or "")
    return int(text) if text.isdecimal() and int(text) > 0 else 1


def _update(entry: Mapping[str, Any], number: int) -> Update:
    started, ended = (
        datetime.fromisoformat(entry[field]) if entry.get(field) else None
        for field in ("startTime", "endTime")
    )
    assert started is not None, "every update has a start time"
    return Update(
        version=entry.get("version") or number,
        operation=entry["kind"],
        cause=entry.get("message") or _BY_HAND,
        result=entry["result"],
        started=started,
        duration_s=(ended - started).total_seconds() if ended else None,
        counts=entry.get("resourceChanges") or {},
        record=_record(entry.get("config") or {}),
    )


def _record(config: Mapping[str, Mapping[str, Any]]) -> UpdateRecord | None:
    text = config.get(RECORD_KEY, {}).get("value")
    try:
        record = UpdateRecord.model_validate_json(text) if text else None
    except ValidationError:
        return None  # An incompatible version of the watcher wrote the record.
    return record.model_copy(update={"spec_changes": _spec_changes(config)}) if record else None


def _spec_changes(config: Mapping[str, Mapping[str, Any]]) -> tuple[SpecChange, ...]:
    """The changes to the Tenant's spec in the configuration of an update.

    Empty if the configuration contains no valid changes. Earlier versions of the watcher did not store them.
    """
    text = config.get(SPEC_CHANGES_KEY, {}).get("value")
    try:
        return _SPEC_CHANGES.validate_json(text) if text else ()
    except ValidationError:
        return ()
