"""The recorded hours stay correct after gaps, after changes of the clock, and after records are merged."""

import random
import sqlite3
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.watcher.usage_records import CPU, DAY, HOUR, MINUTE, NOON, hours, record_period, spans
from watcher.usage.hours import Hours, Series
from watcher.usage.store import UsageStore

PODS = Series("acme", "tenant-acme", "pods")
OTHER = Series("other", "tenant-other", "cpu")


@pytest.fixture
def store(tmp_path: Path) -> UsageStore:
    return UsageStore(tmp_path / "folder" / "usage.db")


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
    """Random records of a tenant.

    The amounts change sometimes, there are gaps, and sometimes the tenant is missing.
    """
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
    """The hours of the records, computed from each pair of consecutive records."""
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
    # Merge in several steps, and repeat the last step.
    for later in (end, end + DAY // 2, end + 2 * DAY, end + 2 * DAY):
        store.compact(later)
        assert hours(store) == pytest.approx(expected_hours(records, 0, 2 * NOON))
    for since in range(NOON, end + HOUR, 3 * HOUR):
        expected = expected_hours(records, since, end)
        # For a part of a merged hour, the recorded time is approximate.
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
    # Each call deletes at most one day. A second call within the same hour deletes nothing.
    for hour in range(3):
        store.compact(NOON + 401 * DAY + hour * HOUR + 2 * MINUTE)
    assert store.hours(0, 2 * NOON).keys() == {CPU}
    assert min(start for start, _ in spans(store)) == NOON + 2 * DAY
    with sqlite3.connect(store.path) as database:
        assert list(database.execute("SELECT tenant FROM series")) == [("acme",)]
