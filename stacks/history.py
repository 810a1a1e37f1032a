"""A stack's history, read from what the CLI prints of it. The page, the command line and rollback use it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from pydantic import ValidationError

from stacks.project import RECORD_KEY
from tenancy.changes import UpdateRecord

# An operator's own `pulumi up` may have no message; in a git checkout it has the newest commit's.
_BY_HAND: Final = "by hand"


@dataclass(frozen=True)
class Update:
    """One entry of the history."""

    version: int
    operation: str
    cause: str
    result: str
    started: datetime
    duration_s: float | None
    counts: Mapping[str, int]
    # What it was made from; None where it was not the watcher's.
    record: UpdateRecord | None


def updates_in(text: str) -> list[Update]:
    """Newest first, as the CLI has them. Only the service numbers its updates, so they are counted here."""
    entries: list[dict[str, Any]] = json.loads(text)
    return [_update(entry, len(entries) - index) for index, entry in enumerate(entries)]


def _update(entry: dict[str, Any], number: int) -> Update:
    started, ended = (
        datetime.fromisoformat(entry[field]) if entry.get(field) else None
        for field in ("startTime", "endTime")
    )
    assert started is not None, "every update has a start"
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
        return UpdateRecord.model_validate_json(text) if text else None
    except ValidationError:
        return None  # Another version's.
