"""The watcher deletes finished sessions with their results after `keepDays`, or earlier to make space."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from tenancy.base.kinds import AISESSION, EVENT
from tests.platform import NewTenant, Platform
from tests.sessions.sessions import PLANS, Sessions, refusal, sessions_of, set_plans
from tests.waiting import eventually


def set_completion_time(sessions: Sessions, name: str, days_ago: int) -> None:
    completed = datetime.now(UTC) - timedelta(days=days_ago)
    change = {"status": {"completionTime": completed.strftime("%Y-%m-%dT%H:%M:%SZ")}}
    sessions.platform.admin.patch(AISESSION, name, change, namespace=sessions.namespace, subresource="status")


def test_keep_days_of_the_plans_file_apply(
    platform: Platform, new_tenant: NewTenant, plans_file: Path
) -> None:
    set_plans(platform, plans_file, {**PLANS, "sessions": {**PLANS["sessions"], "keepDays": None}})
    new_tenant("keeper")
    sessions = sessions_of(platform, "keeper")
    names = ("old", "recent", "newest")
    for name in names:
        sessions.create(name)
    for name in names:
        sessions.await_phase(name, "Completed")
    set_completion_time(sessions, "old", 40)
    set_completion_time(sessions, "recent", 20)
    assert set(sessions.all()) == set(names)

    set_plans(platform, plans_file, PLANS)
    eventually(lambda: set(sessions.all()) == {"recent", "newest"}, "the session of 40 days ago is deleted")
    set_plans(platform, plans_file, {**PLANS, "sessions": {**PLANS["sessions"], "keepDays": 10}})
    eventually(lambda: set(sessions.all()) == {"newest"}, "the session of 20 days ago is deleted")


def test_oldest_sessions_make_space_before_the_limit_is_reached(
    platform: Platform, new_tenant: NewTenant, plans_file: Path
) -> None:
    """Without this rule, the namespace would accept no new session for 30 days."""
    set_plans(platform, plans_file, PLANS)
    limit = {"name": "sessions", "hard": {f"count/{AISESSION.resource}": 5}}
    tenant = new_tenant("crowded", quotas=[limit])
    platform.await_active(tenant)
    sessions = sessions_of(platform, "crowded")
    names = [f"run-{number}" for number in range(4)]
    for name in names:
        sessions.create(name)
    for name in names:
        sessions.await_phase(name, "Completed")
    set_completion_time(sessions, "run-1", 3)
    set_completion_time(sessions, "run-2", 2)
    sessions.create("run-4")
    eventually(lambda: set(sessions.all()) == {*names, "run-4"} - {"run-1"}, "the oldest session is deleted")
    sessions.await_phase("run-4", "Completed")
    # Kubernetes updates the quota some time after the deletion.
    eventually(lambda: refusal(sessions, "run-5") == "", "a new session is accepted")
    eventually(lambda: "run-2" not in sessions.all(), "the next session is deleted")
    sessions.await_phase("run-5", "Completed")
    assert set(sessions.all()) == {"run-0", "run-3", "run-4", "run-5"}
    events = platform.admin.list(EVENT, namespace=sessions.namespace, fields="reason=Deleted")[0]
    assert {event["involvedObject"]["name"] for event in events} == {"run-1", "run-2"}
    assert "namespace tenant-crowded has 5 of at most 5 AISessions" in events[0]["message"]
