"""The watcher deletes ended sessions when they expire, or earlier if their namespace has many sessions."""

from datetime import UTC, datetime, timedelta

import pytest

from tenancy.base.kinds import AISESSION
from tenancy.base.manifest import Manifest
from tenancy.objects.object_counts import session_limits
from tenancy.sessions.phase import time_text
from tenancy.sessions.retention import Retention, retention

NOW = datetime.now(UTC)


def session(name: str, created_days_ago: float, completed: str, namespace: str = "tenant-a") -> Manifest:
    created = time_text(NOW - timedelta(days=created_days_ago))
    metadata = {"name": name, "namespace": namespace, "uid": name, "creationTimestamp": created}
    return {"metadata": metadata, "status": {"phase": "Completed", "completionTime": completed}}


def ended(name: str, *, hours_ago: float, namespace: str = "tenant-a") -> Manifest:
    return session(name, 5, time_text(NOW - timedelta(hours=hours_ago)), namespace)


def names(decision: Retention) -> list[str]:
    return [entry.session["metadata"]["name"] for entry in decision.surplus]


@pytest.mark.parametrize("year", [9999, NOW.year + 1])
def test_completion_time_in_the_future_counts_as_the_creation_time(year: int) -> None:
    forged = f"{year}-12-31T23:59:59Z"
    sessions = [
        session("forged-old", 9, forged),
        session("forged-new", 2, forged),
        session("old", 9, time_text(NOW - timedelta(days=8))),
        session("new", 9, time_text(NOW - timedelta(days=1))),
    ]
    decision = retention(sessions, [], {}, 7, NOW)
    assert [each["metadata"]["name"] for each in decision.expired] == ["forged-old", "old"]
    assert decision.next_s == pytest.approx(timedelta(days=5).total_seconds(), abs=3600)


def test_oldest_sessions_make_space_for_new_ones() -> None:
    """One fifth of the limit stays free. Sessions that have not ended need space too."""
    sessions = [ended(f"s{hours}", hours_ago=hours) for hours in (3, 9, 5, 7, 2, 4, 6, 8)]
    running = [session("running", 0, "")]
    assert names(retention(sessions, [], {"tenant-a": 10}, 30, NOW)) == []
    assert names(retention(sessions, running, {"tenant-a": 10}, 30, NOW)) == ["s9"]
    decision = retention(sessions, running * 3, {"tenant-a": 10}, 30, NOW)
    assert names(decision) == ["s9", "s8", "s7"]
    assert decision.surplus[0].reason == "namespace tenant-a has 11 of at most 10 AISessions"


def test_space_in_one_namespace_is_not_taken_from_another() -> None:
    sessions = [
        *(ended(f"a{number}", hours_ago=number + 2) for number in range(10)),
        *(ended(f"b{number}", hours_ago=number + 50, namespace="tenant-b") for number in range(10)),
    ]
    assert names(retention(sessions, [], {"tenant-a": 10}, 30, NOW)) == ["a9", "a8"]
    assert names(retention(sessions, [], {"tenant-a": 10, "tenant-b": 100}, 30, NOW)) == ["a9", "a8"]


def test_session_is_kept_for_one_hour_even_without_space() -> None:
    sessions = [ended(f"s{number}", hours_ago=0.9 - number / 100) for number in range(10)]
    decision = retention(sessions, [], {"tenant-a": 10}, 30, NOW)
    assert names(decision) == []
    assert decision.next_s == pytest.approx(360, abs=2)


def test_expired_sessions_need_no_space() -> None:
    sessions = [*(ended(f"s{hours}", hours_ago=hours) for hours in range(2, 10)), ended("x", hours_ago=99)]
    decision = retention(sessions, [], {"tenant-a": 10}, 1, NOW)
    assert [each["metadata"]["name"] for each in decision.expired] == ["x"]
    assert names(decision) == []


@pytest.mark.parametrize("limit", [1, 4])
def test_very_low_limit_deletes_no_result(limit: int) -> None:
    sessions = [ended(f"s{number}", hours_ago=2) for number in range(limit)]
    assert names(retention(sessions, [], {"tenant-a": limit}, 30, NOW)) == []


def test_plans_can_keep_all_sessions() -> None:
    sessions = [ended(f"s{number}", hours_ago=99_999) for number in range(10)]
    assert retention(sessions, [], {"tenant-a": 10}, None, NOW) == Retention([], [], None)


def test_lowest_quota_of_a_namespace_is_its_limit() -> None:
    key = f"count/{AISESSION.resource}"

    def quota(namespace: str, **spec: object) -> Manifest:
        metadata = {"name": "q", "namespace": namespace}
        return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": spec}

    objects = [
        quota("tenant-a", hard={key: "2k"}),
        quota("tenant-a", hard={key: "100", "pods": "5"}),
        quota("tenant-a", hard={key: "1"}, scopes=["Terminating"]),
        quota("tenant-b", hard={"pods": "5"}),
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "tenant-b"}},
    ]
    assert session_limits(objects) == {"tenant-a": 100}
