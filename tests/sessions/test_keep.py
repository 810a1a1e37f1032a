"""Ended sessions are kept for as long as the platform says, and then dropped with their results."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from tenancy.kinds import AISESSION
from tests.platform import NewTenant, Platform
from tests.sessions.sessions import PLANS, Sessions, sessions_of, set_plans
from tests.waiting import eventually


def _ended(sessions: Sessions, name: str, days_ago: int) -> None:
    """A session whose end is moved back: nobody waits for days."""
    sessions.create(name)
    sessions.await_phase(name, "Completed")
    ended = datetime.now(UTC) - timedelta(days=days_ago)
    change = {"status": {"completionTime": ended.strftime("%Y-%m-%dT%H:%M:%SZ")}}
    sessions.platform.admin.patch(AISESSION, name, change, namespace=sessions.namespace, subresource="status")


def test_old_sessions_go_by_the_plans_file(
    platform: Platform, new_tenant: NewTenant, plans_file: Path
) -> None:
    set_plans(platform, plans_file, {**PLANS, "sessions": {**PLANS["sessions"], "keepDays": None}})
    platform.await_active(new_tenant("keeper"))
    sessions = sessions_of(platform, "keeper")
    _ended(sessions, "old", 40)
    _ended(sessions, "recent", 20)
    sessions.create("newest")
    sessions.await_phase("newest", "Completed")
    assert set(sessions.all()) == {"old", "recent", "newest"}

    set_plans(platform, plans_file, PLANS)
    eventually(lambda: set(sessions.all()) == {"recent", "newest"}, "the session of 40 days ago is dropped")
    set_plans(platform, plans_file, {**PLANS, "sessions": {**PLANS["sessions"], "keepDays": 10}})
    eventually(lambda: set(sessions.all()) == {"newest"}, "the session of 20 days ago is dropped")
