"""Ended sessions are kept for as long as the platform says, and then dropped with their results."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from tenancy.base.kinds import AISESSION
from tests.platform import NewTenant, Platform
from tests.sessions.sessions import PLANS, Sessions, sessions_of, set_plans
from tests.waiting import eventually


def move_end(sessions: Sessions, name: str, days_ago: int) -> None:
    """Nobody waits for days."""
    ended = datetime.now(UTC) - timedelta(days=days_ago)
    change = {"status": {"completionTime": ended.strftime("%Y-%m-%dT%H:%M:%SZ")}}
    sessions.platform.admin.patch(AISESSION, name, change, namespace=sessions.namespace, subresource="status")


def test_old_sessions_go_by_the_plans_file(
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
    move_end(sessions, "old", 40)
    move_end(sessions, "recent", 20)
    assert set(sessions.all()) == set(names)

    set_plans(platform, plans_file, PLANS)
    eventually(lambda: set(sessions.all()) == {"recent", "newest"}, "the session of 40 days ago is dropped")
    set_plans(platform, plans_file, {**PLANS, "sessions": {**PLANS["sessions"], "keepDays": 10}})
    eventually(lambda: set(sessions.all()) == {"newest"}, "the session of 20 days ago is dropped")
