"""The record of use over time: a SQLite file that the watcher writes and `tenancy usage` reads.

`recorder` calls it once per period. It holds nothing in memory, so a process may end at any moment: the next
one goes on from the file. Who calls it decides what a failure means.
"""

import sqlite3
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from watcher.usage.database import reading, writing
from watcher.usage.hours import Hours, Series, UsageReport, usage_row

# One record may be missed; after more, what was used meanwhile is not known. A restart is no gap either.
_STEP_MAX_S: Final = 150.0
_STEP_MAX_PERIODS: Final = 2.5
_HOUR_S: Final = 3600
# So long every change is kept; then there is one figure per hour.
_KEEP_EXACT_S: Final = 24 * _HOUR_S
_KEEP_S: Final = 400 * 24 * _HOUR_S
_DROP_S: Final = 24 * _HOUR_S

# Used and hard by what they are of, in plain units: CPUs, bytes, pods.
Figures = Mapping[Series, tuple[float, float]]

_MERGED: Final = """
CREATE TEMP TABLE merged AS
SELECT
    series, start_s / 3600 AS hour, min(start_s) AS first_s, max(end_s) AS last_s,
    sum(used * (end_s - start_s) * share) / sum((end_s - start_s) * share) AS used,
    sum(hard * (end_s - start_s) * share) / sum((end_s - start_s) * share) AS hard,
    sum((end_s - start_s) * share) / (max(end_s) - min(start_s)) AS share
FROM span
WHERE end_s > :since AND end_s <= :until AND end_s <= (start_s / 3600 + 1) * 3600
GROUP BY series, hour HAVING count(*) > 1
"""
_DROP_MERGED: Final = """
DELETE FROM span
WHERE end_s > :since AND end_s <= :until AND end_s <= (start_s / 3600 + 1) * 3600
    AND (series, start_s / 3600) IN (SELECT series, hour FROM merged)
"""
# Series by series, as the spans lie in the file, and summed up there: Python would hold up the whole watcher.
_HOURS: Final = """
SELECT tenant, namespace, resource, used_s / 3600, hard_s / 3600, recorded_s / 3600
FROM (
    SELECT
        tenant, namespace, resource,
        sum(used * seconds) AS used_s, sum(hard * seconds) AS hard_s, sum(seconds) AS recorded_s
    FROM (
        SELECT
            series.*, used, hard,
            (min(coalesce(end_s, recorded_s), :until) - max(start_s, :since)) * share AS seconds
        FROM state CROSS JOIN series CROSS JOIN span ON span.series = series.id
        WHERE :tenant IN ('', tenant)
    )
    WHERE seconds > 0
    GROUP BY id
)
ORDER BY tenant, namespace, resource
"""


class UsageStore:
    def __init__(self, path: Path, period_s: float = 0.0) -> None:
        """Nothing is opened yet: a disk that is not there, or full, stops nobody. `period_s` is how often
        `record` is called; readers need not know it."""
        self.path = path
        self._step_max_s = max(_STEP_MAX_S, _STEP_MAX_PERIODS * period_s)

    def record(self, now_s: int, figures: Figures) -> None:
        """Notes that these are the figures now, and that what is not among them is gone."""
        with writing(self.path) as database:
            self._settle(database, now_s)
            known = {
                Series(*names): (number, used, hard)
                for *names, number, used, hard in database.execute(
                    "SELECT tenant, namespace, resource, id, used, hard FROM span"
                    " JOIN series ON id = series WHERE end_s IS NULL"
                )
            }
            for series, (number, used, hard) in known.items():
                if figures.get(series) != (used, hard):
                    _end(database, number, now_s)
            # A span that began and ended in this very second is none.
            database.execute("DELETE FROM span WHERE start_s = ?1 AND end_s = ?1", (now_s,))
            for series, (used, hard) in figures.items():
                if known.get(series, ())[1:] != (used, hard):
                    _begin(database, series, now_s, used, hard)
            database.execute("UPDATE state SET recorded_s = ?1, latest_s = max(latest_s, ?1)", (now_s,))

    def compact(self, now_s: int) -> None:
        """Merges what is older than a day into hours, and drops what nobody will ask for any more."""
        until_s = (now_s - _KEEP_EXACT_S) // _HOUR_S * _HOUR_S
        with writing(self.path) as database:
            ((since_s,),) = database.execute("SELECT merged_s FROM state")
            if since_s >= until_s:
                return
            times = {"since": since_s, "until": until_s}
            # Spans that go on into another hour stay as they are: an hour begins one of them at most.
            database.execute(_MERGED, times)
            database.execute(_DROP_MERGED, times)
            database.execute("INSERT INTO span SELECT series, first_s, last_s, used, hard, share FROM merged")
            database.execute("DROP TABLE merged")
            _drop_old(database, now_s)
            database.execute("UPDATE state SET merged_s = ?", (until_s,))

    def hours(self, since_s: float, until_s: float, tenant: str = "") -> dict[Series, Hours]:
        """What was recorded between the two times, of one tenant or of all."""
        with reading(self.path) as database:
            times = {"since": since_s, "until": until_s, "tenant": tenant}
            return {Series(*row[:3]): Hours(*row[3:]) for row in database.execute(_HOURS, times)}

    def report(self, since: datetime, until: datetime, tenant: str = "") -> UsageReport:
        found = self.hours(since.timestamp(), until.timestamp(), tenant)
        rows = tuple(usage_row(series, hours) for series, hours in found.items())
        return UsageReport(since=since, until=until, rows=rows)

    def _settle(self, database: sqlite3.Connection, now_s: int) -> None:
        """Brings the record to where it can go on from now, whatever the clock or the watcher did."""
        ((recorded_s, latest_s),) = database.execute("SELECT recorded_s, latest_s FROM state")
        if recorded_s is None:
            return
        goes_on = 0 <= now_s - recorded_s <= self._step_max_s
        if not goes_on:
            database.execute("UPDATE span SET end_s = ? WHERE end_s IS NULL", (recorded_s,))
            database.execute("DELETE FROM span WHERE start_s = ?1 AND end_s = ?1", (recorded_s,))
        if min(now_s, recorded_s) < latest_s:
            # The clock has gone back: it was wrong before, or it is now. So what is on record for later stays
            # there until that time has come again.
            _make_way(database, recorded_s if goes_on else now_s, now_s + 1)
            hour_s = now_s // _HOUR_S * _HOUR_S
            database.execute("UPDATE state SET merged_s = min(merged_s, ?)", (hour_s,))


def _end(database: sqlite3.Connection, series: int, now_s: int) -> None:
    database.execute("UPDATE span SET end_s = ? WHERE series = ? AND end_s IS NULL", (now_s, series))


def _begin(database: sqlite3.Connection, series: Series, now_s: int, used: float, hard: float) -> None:
    database.execute("INSERT OR IGNORE INTO series (tenant, namespace, resource) VALUES (?, ?, ?)", series)
    database.execute(
        "INSERT INTO span (series, start_s, used, hard) SELECT id, ?, ?, ? FROM series"
        " WHERE tenant = ? AND namespace = ? AND resource = ?",
        (now_s, used, hard, *series),
    )


def _make_way(database: sqlite3.Connection, since_s: int, until_s: int) -> None:
    """Takes out of the record what it says of this time: it comes anew."""
    times = {"since": since_s, "until": until_s}
    database.execute(
        "INSERT INTO span SELECT series, :until, end_s, used, hard, share FROM span"
        " WHERE start_s < :until AND end_s > :until",
        times,
    )
    database.execute("UPDATE span SET end_s = :since WHERE start_s < :since AND end_s > :since", times)
    database.execute(
        "DELETE FROM span WHERE start_s >= :since AND start_s < :until AND end_s > :since", times
    )


def _drop_old(database: sqlite3.Connection, now_s: int) -> None:
    """At most a day's worth at a time: a clock that is far ahead for a while costs no years."""
    ((oldest_s,),) = database.execute("SELECT min(end_s) FROM span")
    limit_s = min(now_s - _KEEP_S, (oldest_s or 0) + _DROP_S)
    database.execute("DELETE FROM span WHERE end_s < ?", (limit_s,))
    database.execute("DELETE FROM series WHERE id NOT IN (SELECT series FROM span)")
