"""The usage record stays correct after crashes, gaps, clock changes and damage of the file."""

import random
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.platform import ROOT
from watcher.usage.database import UsageUnavailable, writing
from watcher.usage.hours import Hours, Series
from watcher.usage.store import UsageStore

MINUTE, HOUR, DAY = 60, 3600, 86400
# The start of an hour, because the record is merged into hours of Unix time.
NOON = 1_800_000_000 // HOUR * HOUR
CPU = Series("acme", "tenant-acme", "cpu")
PODS = Series("acme", "tenant-acme", "pods")
OTHER = Series("other", "tenant-other", "cpu")


@pytest.fixture
def store(tmp_path: Path) -> UsageStore:
    return UsageStore(tmp_path / "folder" / "usage.db")


def record_period(store: UsageStore, start: int, end: int, used: float = 1.0, hard: float = 4.0) -> None:
    """Record the same amounts every two minutes from start to end, both included. This leaves no gap."""
    for now in range(start, end + 1, 2 * MINUTE):
        store.record(now, {CPU: (used, hard)})


def spans(store: UsageStore) -> list[tuple[int, int | None]]:
    with sqlite3.connect(store.path) as database:
        return list(database.execute("SELECT start_s, end_s FROM span ORDER BY start_s"))


def hours(store: UsageStore, since: int = 0, until: int = 2 * NOON) -> Hours:
    return store.hours(since, until).get(CPU, Hours())


def test_only_the_owner_can_read_the_files(tmp_path: Path) -> None:
    store = UsageStore(tmp_path / "usage.db")
    with writing(store.path):
        modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    assert modes == dict.fromkeys(("usage.db", "usage.db-wal", "usage.db-shm"), 0o600)


def test_hours_are_the_recorded_amounts_over_time(store: UsageStore) -> None:
    record_period(store, NOON, NOON + HOUR - MINUTE, used=1)
    record_period(store, NOON + HOUR, NOON + 2 * HOUR, used=3)
    assert hours(store) == Hours(used=4, hard=8, recorded=2)
    assert hours(store, NOON + HOUR // 2, NOON + HOUR) == Hours(0.5, 2, 0.5)


@pytest.mark.parametrize(
    ("since", "until", "recorded"),
    [(-2, -1, 0), (-1, 0.5, 0.5), (-9, 9, 2), (0.5, 1.5, 1), (2, 9, 0), (1.5, 0.5, 0)],
)
def test_only_the_requested_period_counts(
    store: UsageStore, since: float, until: float, recorded: float
) -> None:
    record_period(store, NOON, NOON + 2 * HOUR)
    period_hours = hours(store, NOON + int(since * HOUR), NOON + int(until * HOUR))
    assert period_hours == Hours(recorded, 4 * recorded, recorded)


def test_constant_amount_is_one_span(store: UsageStore) -> None:
    record_period(store, NOON, NOON + 3 * HOUR)
    assert spans(store) == [(NOON, None)]


def test_each_tenant_has_its_own_hours(store: UsageStore) -> None:
    for now in (NOON, NOON + MINUTE):
        store.record(now, {CPU: (1, 2), PODS: (3, 20), OTHER: (5, 6)})
    assert store.hours(0, 2 * NOON).keys() == {CPU, PODS, OTHER}
    assert store.hours(0, 2 * NOON, "acme").keys() == {CPU, PODS}
    assert store.hours(0, 2 * NOON, "nobody") == {}


def test_another_process_continues_the_record(store: UsageStore) -> None:
    record_period(store, NOON, NOON + HOUR)
    record_period(UsageStore(store.path), NOON + HOUR + 2 * MINUTE, NOON + 2 * HOUR)
    assert hours(store).recorded == 2
    assert len(spans(store)) == 1


def test_one_missed_record_is_no_gap(store: UsageStore) -> None:
    record_period(store, NOON, NOON + 10 * MINUTE)
    record_period(store, NOON + 12 * MINUTE, NOON + 20 * MINUTE)
    assert hours(store).recorded == pytest.approx(20 / 60)


def test_time_without_records_is_a_gap(store: UsageStore) -> None:
    record_period(store, NOON, NOON + HOUR)
    record_period(store, NOON + 5 * HOUR, NOON + 6 * HOUR)
    assert hours(store) == Hours(2, 8, 2)
    assert hours(store, NOON + 2 * HOUR, NOON + 4 * HOUR) == Hours()


def test_single_record_before_a_gap_has_no_duration(store: UsageStore) -> None:
    store.record(NOON, {CPU: (1, 2)})
    store.record(NOON + HOUR, {CPU: (1, 2)})
    assert hours(store).recorded == 0
    assert spans(store) == [(NOON + HOUR, None)]


def test_deleted_tenant_keeps_its_past_hours_and_gets_no_more(store: UsageStore) -> None:
    for minute in range(61):
        store.record(NOON + minute * MINUTE, {CPU: (1, 2), OTHER: (1, 2)})
    for minute in range(61, 121):
        store.record(NOON + minute * MINUTE, {OTHER: (1, 2)})
    hours_by_series = store.hours(0, 2 * NOON)
    assert hours_by_series[CPU].recorded == pytest.approx(61 / 60)
    assert hours_by_series[OTHER].recorded == 2


def test_recreated_tenant_adds_to_its_hours(store: UsageStore) -> None:
    record_period(store, NOON, NOON + HOUR)
    store.record(NOON + HOUR + MINUTE, {})
    record_period(store, NOON + 2 * HOUR, NOON + 3 * HOUR)
    assert hours(store).recorded == pytest.approx(2 + 1 / 60)


@pytest.mark.parametrize("back", [1, MINUTE, HOUR, 90 * MINUTE])
def test_clock_that_goes_back_counts_no_time_twice(store: UsageStore, back: int) -> None:
    record_period(store, NOON, NOON + HOUR, used=1)
    record_period(store, NOON + HOUR + 2 * MINUTE, NOON + 2 * HOUR, used=2)
    now = NOON + 2 * HOUR - back
    # The clock jumps several times before it is correct again.
    for step in range(4):
        store.record(now + step * HOUR, {CPU: (step, 4)})
    record_period(store, now, now + 2 * HOUR, used=3)
    all_hours = hours(store)
    assert all_hours.recorded == pytest.approx((now + 2 * HOUR - NOON) / HOUR)
    assert hours(store, now, now + 2 * HOUR) == Hours(6, 8, 2)


def test_clock_that_was_far_ahead_loses_only_the_oldest_days(store: UsageStore) -> None:
    for day in range(30):
        record_period(store, NOON + day * DAY, NOON + day * DAY + HOUR)
    ahead, back = NOON + 1000 * DAY, NOON + 30 * DAY
    record_period(store, ahead, ahead + 3 * HOUR)
    for hour in range(3):
        store.compact(ahead + hour * HOUR)
    record_period(store, back, back + HOUR)
    assert hours(store, NOON + 3 * DAY, back + DAY) == Hours(28, 112, 28)


@pytest.mark.parametrize("behind", [0, NOON - 3 * DAY, NOON + HOUR // 2])
def test_clock_that_was_behind_for_a_while_replaces_only_that_period(store: UsageStore, behind: int) -> None:
    record_period(store, NOON - 10 * DAY, NOON - 10 * DAY + HOUR, used=5)
    record_period(store, NOON, NOON + HOUR, used=1)
    record_period(store, behind, behind + 10 * MINUTE, used=3)
    record_period(store, NOON + 2 * HOUR, NOON + 3 * HOUR, used=1)
    assert hours(store, NOON - 10 * DAY, NOON - 9 * DAY) == Hours(5, 4, 1)
    in_between = hours(store, behind, behind + 10 * MINUTE)
    assert in_between == pytest.approx(Hours(0.5, 4 / 6, 1 / 6))
    day_hours = hours(store, NOON, NOON + DAY)
    assert day_hours.recorded == pytest.approx(2, abs=2 / HOUR)
    is_within = behind > NOON
    assert day_hours.used == pytest.approx(2 + is_within * 2 / 6, abs=2 / HOUR)


def test_last_of_two_records_in_one_second_counts(store: UsageStore) -> None:
    store.record(NOON, {CPU: (1, 2), OTHER: (1, 2)})
    store.record(NOON, {CPU: (2, 2)})
    store.record(NOON + MINUTE, {CPU: (2, 2)})
    assert store.hours(0, 2 * NOON) == {CPU: pytest.approx(Hours(2 / 60, 2 / 60, 1 / 60))}


def random_records(seed: int, length: int) -> Iterator[tuple[int, dict[Series, tuple[float, float]]]]:
    """Random records of a tenant: amounts that change sometimes, gaps, and times without the tenant."""
    generator = random.Random(seed)
    now, used, hard = NOON + generator.randrange(HOUR), 1.0, 8.0
    for _ in range(length):
        now += generator.choices((MINUTE, 2 * MINUTE, 40 * MINUTE), (90, 5, 1))[0]
        if generator.random() < 0.4:
            used = generator.randrange(8) / 4
        if generator.random() < 0.02:
            hard = generator.choice((4.0, 8.0))
        yield now, {} if generator.random() < 0.02 else {CPU: (used, hard)}


def expected_hours(
    records: list[tuple[int, dict[Series, tuple[float, float]]]], since: int, until: int
) -> Hours:
    """The same sums, computed from record to record."""
    used = hard = recorded = 0.0
    for (start, amounts), (end, _) in pairwise(records):
        seconds = min(end, until) - max(start, since)
        if amounts and end - start <= 2 * MINUTE and seconds > 0:
            used, hard = used + amounts[CPU][0] * seconds, hard + amounts[CPU][1] * seconds
            recorded += seconds
    return Hours(used / HOUR, hard / HOUR, recorded / HOUR)


@pytest.mark.parametrize("seed", range(3))
def test_merging_into_hours_changes_no_sum(store: UsageStore, seed: int) -> None:
    records = list(random_records(seed, 400))
    for now, amounts in records:
        store.record(now, amounts)
    end = records[-1][0]
    before = len(spans(store))
    # Compact in steps, and repeat the last step.
    for later in (end, end + DAY // 2, end + 2 * DAY, end + 2 * DAY):
        store.compact(later)
        assert hours(store) == pytest.approx(expected_hours(records, 0, 2 * NOON))
    for since in range(NOON, end + HOUR, 3 * HOUR):
        expected = expected_hours(records, since, end)
        # The time of a part of a merged hour is approximate.
        assert hours(store, since, end).recorded == pytest.approx(expected.recorded, abs=1 / 60)
    assert len(spans(store)) < before / 4


def test_whole_hours_are_exact_after_merging(store: UsageStore) -> None:
    for minute in range(4 * 60 + 1):
        store.record(NOON + minute * MINUTE, {CPU: (minute % 7, 8)})
    expected = [hours(store, NOON + hour * HOUR, NOON + (hour + 1) * HOUR) for hour in range(4)]
    store.compact(NOON + 3 * DAY)
    merged = [hours(store, NOON + hour * HOUR, NOON + (hour + 1) * HOUR) for hour in range(4)]
    assert merged == [pytest.approx(hour) for hour in expected]


def test_spans_of_the_last_day_are_not_merged(store: UsageStore) -> None:
    for minute in range(120):
        store.record(NOON + minute * MINUTE, {CPU: (minute % 7, 8)})
    before = spans(store)
    store.compact(NOON + DAY)
    assert spans(store) == before


def test_spans_older_than_400_days_are_deleted(store: UsageStore) -> None:
    store.record(NOON, {CPU: (1, 2), OTHER: (1, 2)})
    store.record(NOON + MINUTE, {CPU: (1, 2)})
    for day in (1, 2, 200, 401):
        store.record(NOON + day * DAY, {CPU: (1, 2)})
        store.record(NOON + day * DAY + MINUTE, {CPU: (1, 2)})
    # Each call deletes at most one day, and calls within the same hour delete nothing.
    for hour in range(3):
        store.compact(NOON + 401 * DAY + hour * HOUR + 2 * MINUTE)
    assert store.hours(0, 2 * NOON).keys() == {CPU}
    assert min(start for start, _ in spans(store)) == NOON + 2 * DAY
    with sqlite3.connect(store.path) as database:
        assert list(database.execute("SELECT tenant FROM series")) == [("acme",)]


def test_process_killed_during_a_write_leaves_a_consistent_record(store: UsageStore) -> None:
    record_period(store, NOON, NOON + HOUR)
    script = (
        "import os, pathlib, sys; from watcher.usage.database import writing\n"
        "with writing(pathlib.Path(sys.argv[1])) as database:\n"
        "    database.execute('DELETE FROM span'); os.kill(os.getpid(), 9)"
    )
    completed = subprocess.run([sys.executable, "-c", script, str(store.path)], cwd=ROOT, check=False)
    assert completed.returncode == -9
    assert hours(store).recorded == 1
    record_period(store, NOON + HOUR + 2 * MINUTE, NOON + 2 * HOUR)
    assert hours(store).recorded == 2


def test_readers_and_the_writer_do_not_wait_for_each_other(store: UsageStore) -> None:
    record_period(store, NOON, NOON + HOUR)
    with writing(store.path) as database:
        database.execute("DELETE FROM span")
        results: list[Hours] = []
        reader = threading.Thread(target=lambda: results.append(hours(store)))
        reader.start()
        reader.join(30)
        assert results == [Hours(1, 4, 1)]


def test_reading_before_the_first_record_is_an_error(store: UsageStore) -> None:
    with pytest.raises(UsageUnavailable, match="nothing is recorded there yet"):
        store.hours(0, NOON)


def test_file_that_is_not_a_database_is_left_alone(store: UsageStore) -> None:
    store.path.parent.mkdir()
    store.path.write_text("my own notes, and more than a few of them" * 100)
    before = store.path.read_bytes()
    with pytest.raises(UsageUnavailable, match="not a database"):
        store.record(NOON, {})
    with pytest.raises(UsageUnavailable, match="not a database"):
        store.hours(0, NOON)
    assert store.path.read_bytes() == before


def test_error_for_a_damaged_file_says_what_to_do(store: UsageStore) -> None:
    for minute in range(300):
        store.record(NOON + minute * MINUTE, {CPU: (minute, 400)})
    with sqlite3.connect(store.path) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = store.path.stat().st_size
    with store.path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    for operation in (
        lambda: store.record(NOON + 300 * MINUTE, {CPU: (1, 2)}),
        lambda: store.hours(0, 2 * NOON),
    ):
        with pytest.raises(UsageUnavailable, match="malformed; move the file away"):
            operation()
    store.path.rename(store.path.with_suffix(".broken"))
    record_period(store, NOON, NOON + HOUR)
    assert hours(store).recorded == 1


def test_file_of_a_newer_version_is_left_alone(store: UsageStore) -> None:
    record_period(store, NOON, NOON + MINUTE)
    with sqlite3.connect(store.path) as database:
        database.execute("PRAGMA user_version = 99")
    for operation in (lambda: store.record(NOON + MINUTE, {}), lambda: store.hours(0, NOON)):
        with pytest.raises(UsageUnavailable, match="newer version"):
            operation()
