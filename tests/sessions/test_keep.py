"""After `keepDays`, the watcher deletes finished sessions with their results."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from tenancy.base.kinds import AISESSION
from tests.platform import NewTenant, Platform
from tests.sessions.sessions import PLANS, Sessions, sessions_of, set_plans
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
