"""Writes records of one tenant to a usage database, and reads the stored spans and hours."""

import sqlite3

from watcher.usage.hours import Hours, Series
from watcher.usage.store import UsageStore

MINUTE, HOUR, DAY = 60, 3600, 86400
# The start of an hour in Unix time, because records are merged into such hours.
NOON = 1_800_000_000 // HOUR * HOUR
CPU = Series("acme", "tenant-acme", "cpu")


def record_period(store: UsageStore, start: int, end: int, used: float = 1.0, hard: float = 4.0) -> None:
    """Record the same amounts every two minutes from `start` to `end`, both included.

    The records have no gap.
    """
    for now in range(start, end + 1, 2 * MINUTE):
        store.record(now, {CPU: (used, hard)})


def spans(store: UsageStore) -> list[tuple[int, int | None]]:
    with sqlite3.connect(store.path) as database:
        return list(database.execute("SELECT start_s, end_s FROM span ORDER BY start_s"))


def hours(store: UsageStore, since: int = 0, until: int = 2 * NOON) -> Hours:
    return store.hours(since, until).get(CPU, Hours())
