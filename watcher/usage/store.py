"""Stores the quota usage of tenants in a SQLite file. The watcher writes it, and `tenancy usage` reads it.

The store keeps no state in memory. The process may end at any time, and the next process continues with the
file. The methods of the store raise UsageUnavailable if the file cannot be used.
"""

import sqlite3
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from watcher.usage.database import reading, writing
from watcher.usage.hours import Hours, Series, UsageReport, usage_row

# If the time between two records is longer than a limit, this time counts as a gap: no amounts are recorded
# for it. The limit is the longer one of the two times below, in seconds and in periods of the recorder. One
# missed record or a restart of the watcher causes no gap.
_STEP_MAX_S: Final = 150.0
_STEP_MAX_PERIODS: Final = 2.5
_HOUR_S: Final = 3600
# A span is a period in which the amounts of a series did not change. Spans that are older than this time are
# merged into one span per hour.
_KEEP_EXACT_S: Final = 24 * _HOUR_S
_KEEP_S: Final = 400 * 24 * _HOUR_S
_DROP_STEP_S: Final = 24 * _HOUR_S

# The used amount and the hard limit of each series, in CPUs, bytes or pods.
UsageAmounts = Mapping[Series, tuple[float, float]]

_MERGE_SPANS: Final = """
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
_DELETE_MERGED: Final = """
DELETE FROM span
WHERE end_s > :since AND end_s <= :until AND end_s <= (start_s / 3600 + 1) * 3600
    AND (series, start_s / 3600) IN (SELECT series, hour FROM merged)
"""
# SQLite sums the spans, because a sum in Python would block the watcher's other threads. CROSS JOIN makes
# SQLite read the spans in the order of the file.
_SELECT_HOURS: Final = """
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
        """`period_s` is the time between two calls of `record`. Leave it out if you only read the file.

        This method does not open the file.
        """
        self.path = path
        self._step_max_s = max(_STEP_MAX_S, _STEP_MAX_PERIODS * period_s)

    def record(self, now_s: int, amounts: UsageAmounts) -> None:
        """Record the amounts with the Unix time `now_s`.

        A span is a period in which the amounts of a series did not change. If the amounts of a series have
        changed, the current span of the series ends, and a new span begins. If the series is not in
        `amounts`, its current span ends.
        """
        with writing(self.path) as database:
            self._prepare(database, now_s)
            open_spans = {
                Series(*names): (series_id, used, hard)
                for *names, series_id, used, hard in database.execute(
                    "SELECT tenant, namespace, resource, id, used, hard FROM span"
                    " JOIN series ON id = series WHERE end_s IS NULL"
                )
            }
            for series, (series_id, used, hard) in open_spans.items():
                if amounts.get(series) != (used, hard):
                    _end_span(database, series_id, now_s)
            # Delete spans that start and end in this second, because they have no duration.
            database.execute("DELETE FROM span WHERE start_s = ?1 AND end_s = ?1", (now_s,))
            for series, (used, hard) in amounts.items():
                if open_spans.get(series, ())[1:] != (used, hard):
                    _begin_span(database, series, now_s, used, hard)
            database.execute("UPDATE state SET recorded_s = ?1, latest_s = max(latest_s, ?1)", (now_s,))

    def compact(self, now_s: int) -> None:
        """Merge spans older than a day into one span per hour, and delete spans older than 400 days."""
        until_s = (now_s - _KEEP_EXACT_S) // _HOUR_S * _HOUR_S
        with writing(self.path) as database:
            ((since_s,),) = database.execute("SELECT merged_s FROM state")
            if since_s >= until_s:
                return
            times = {"since": since_s, "until": until_s}
            # A span that continues into a later hour is not merged. For each series, at most one such span
            # starts in an hour.
            database.execute(_MERGE_SPANS, times)
            database.execute(_DELETE_MERGED, times)
            database.execute("INSERT INTO span SELECT series, first_s, last_s, used, hard, share FROM merged")
            database.execute("DROP TABLE merged")
            _delete_expired(database, now_s)
            database.execute("UPDATE state SET merged_s = ?", (until_s,))

    def hours(self, since_s: float, until_s: float, tenant: str = "") -> dict[Series, Hours]:
        """The used-hours and quota-hours between two Unix times. An empty `tenant` selects all tenants."""
        with reading(self.path) as database:
            times = {"since": since_s, "until": until_s, "tenant": tenant}
            return {Series(*row[:3]): Hours(*row[3:]) for row in database.execute(_SELECT_HOURS, times)}

    def report(self, since: datetime, until: datetime, tenant: str = "") -> UsageReport:
        hours_by_series = self.hours(since.timestamp(), until.timestamp(), tenant)
        rows = tuple(usage_row(series, hours) for series, hours in hours_by_series.items())
        return UsageReport(since=since, until=until, rows=rows)

    def _prepare(self, database: sqlite3.Connection, now_s: int) -> None:
        """End all spans that have no end yet, if there is a gap between the last record and the time `now_s`.

        If the clock was set back, a time that is already recorded is recorded again. In this case, delete the
        earlier records of this time.
        """
        ((recorded_s, latest_s),) = database.execute("SELECT recorded_s, latest_s FROM state")
        if recorded_s is None:
            return
        is_continuous = 0 <= now_s - recorded_s <= self._step_max_s
        if not is_continuous:
            database.execute("UPDATE span SET end_s = ? WHERE end_s IS NULL", (recorded_s,))
            database.execute("DELETE FROM span WHERE start_s = ?1 AND end_s = ?1", (recorded_s,))
        if min(now_s, recorded_s) < latest_s:
            # The clock was set back. Either the earlier or the current time is wrong. So keep the spans that
            # are in the future now, and replace them only when the clock reaches their times again.
            _clear_period(database, recorded_s if is_continuous else now_s, now_s + 1)
            hour_s = now_s // _HOUR_S * _HOUR_S
            database.execute("UPDATE state SET merged_s = min(merged_s, ?)", (hour_s,))


def _end_span(database: sqlite3.Connection, series_id: int, now_s: int) -> None:
    database.execute("UPDATE span SET end_s = ? WHERE series = ? AND end_s IS NULL", (now_s, series_id))


def _begin_span(database: sqlite3.Connection, series: Series, now_s: int, used: float, hard: float) -> None:
    database.execute("INSERT OR IGNORE INTO series (tenant, namespace, resource) VALUES (?, ?, ?)", series)
    database.execute(
        "INSERT INTO span (series, start_s, used, hard) SELECT id, ?, ?, ? FROM series"
        " WHERE tenant = ? AND namespace = ? AND resource = ?",
        (now_s, used, hard, *series),
    )


def _clear_period(database: sqlite3.Connection, since_s: int, until_s: int) -> None:
    """Delete all amounts that are recorded between these Unix times, so that they can be recorded again.

    Spans that are only partly in this period are shortened or split.
    """
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


def _delete_expired(database: sqlite3.Connection, now_s: int) -> None:
    """Delete spans that ended more than 400 days ago. One call deletes at most the spans of one day.

    If the clock is wrong by years, years of spans seem to be expired. Because of the limit, one call does not
    delete all of these spans.
    """
    ((oldest_s,),) = database.execute("SELECT min(end_s) FROM span")
    delete_before_s = min(now_s - _KEEP_S, (oldest_s or 0) + _DROP_STEP_S)
    database.execute("DELETE FROM span WHERE end_s < ?", (delete_before_s,))
    database.execute("DELETE FROM series WHERE id NOT IN (SELECT series FROM span)")
