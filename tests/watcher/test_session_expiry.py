"""A session with a forged completion time does not delay other sessions of its tenant."""

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from tenancy.base.kinds import Kind
from tenancy.base.manifest import Manifest
from tenancy.sessions.phase import time_text
from watcher.sessions.deletion import delete_expired

NOW = datetime.now(UTC)


class Deletions:
    """A fake cluster that records the deleted objects."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def delete(self, _kind: Kind, name: str, *_: Any, **__: Any) -> None:
        self.names.append(name)


def session(name: str, created_days_ago: int, completed: str) -> Manifest:
    created = time_text(NOW - timedelta(days=created_days_ago))
    metadata = {"name": name, "namespace": "tenant-a", "uid": name, "creationTimestamp": created}
    return {"metadata": metadata, "status": {"phase": "Completed", "completionTime": completed}}


@pytest.mark.parametrize("year", [9999, NOW.year + 1])
def test_completion_time_in_the_future_counts_as_the_creation_time(year: int) -> None:
    cluster, forged = Deletions(), f"{year}-12-31T23:59:59Z"
    sessions = [
        session("forged-old", 9, forged),
        session("forged-new", 2, forged),
        session("old", 9, time_text(NOW - timedelta(days=8))),
        session("new", 9, time_text(NOW - timedelta(days=1))),
    ]
    next_s = delete_expired(cast(Any, cluster), sessions, keep_days=7)
    assert cluster.names == ["forged-old", "old"]
    assert next_s == pytest.approx(timedelta(days=5).total_seconds(), abs=3600)
