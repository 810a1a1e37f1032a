"""The number of running sessions of a tenant does not exceed the tenant's limit.

The oldest sessions start first.
"""

import pytest

from tests.platform import NewTenant, Platform
from tests.sessions.sessions import Sessions, sessions_of
from tests.waiting import eventually


def test_limit_of_the_tenant_holds_and_the_oldest_goes_next(sessions: Sessions) -> None:
    sessions.set_limit(1)
    sessions.create("z-first", "endless")
    sessions.await_phase("z-first", "Running")
    sessions.create("y-second", "endless")
    created: str = sessions.all()["y-second"]["metadata"]["creationTimestamp"]
    sessions.await_phase("y-second", "Pending", "Queued")

    def is_later() -> bool:
        sessions.create("a-third", "endless")
        later: str = sessions.all()["a-third"]["metadata"]["creationTimestamp"]
        if later == created:
            sessions.delete("a-third")
        return later > created

    eventually(is_later, "the third is a second newer")
    assert "1 at once" in sessions.await_phase("a-third", "Pending", "Queued")["message"]
    sessions.finish("z-first")
    sessions.await_phase("y-second", "Running")
    assert sessions.status("a-third")["phase"] == "Pending"
    sessions.finish("y-second")
    sessions.await_phase("a-third", "Running")


def test_raised_limit_starts_what_waits(sessions: Sessions) -> None:
    sessions.set_limit(0)
    sessions.create("eager")
    assert "maxSessions is 0" in sessions.await_phase("eager", "Pending", "Queued")["message"]
    sessions.set_limit(1)
    sessions.await_phase("eager", "Completed")


def test_session_that_could_never_fit_is_told_so_while_the_limit_is_reached(sessions: Sessions) -> None:
    sessions.set_limit(1)
    sessions.create("long", "endless")
    sessions.await_phase("long", "Running")
    sessions.create("huge", resources={"cpu": "100"})
    assert "request less" in sessions.await_phase("huge", "Pending", "QuotaExceeded")["message"]


def test_tenant_that_is_held_starts_nothing(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("held")
    sessions = sessions_of(platform, "held")
    for field, reason in (("paused", "TenantPaused"), ("cordoned", "TenantCordoned")):
        platform.apply({**manifest, "spec": {field: True}})
        # The watcher may read the session before it reads the new spec. So first create a session that cannot
        # start, and wait until its status shows the new spec.
        sessions.create(field, resources={"cpu": "100"})
        sessions.await_phase(field, "Pending", reason)
        sessions.create(f"{field}-too")
        sessions.await_phase(f"{field}-too", "Pending", reason)
        platform.apply({**manifest, "spec": {}})
        sessions.await_phase(f"{field}-too", "Completed")


@pytest.mark.parametrize("limit", [1, 3])
def test_lowered_limit_ends_none_that_runs(sessions: Sessions, limit: int) -> None:
    sessions.set_limit(limit + 1)
    names = [f"s{number}" for number in range(limit + 1)]
    for name in names:
        sessions.create(name, "endless")
    for name in names:
        sessions.await_phase(name, "Running")
    sessions.set_limit(limit)
    sessions.create("late")
    sessions.await_phase("late", "Pending", "Queued")
    sessions.finish("s0")
    sessions.await_phase("s0", "Completed")
    assert sessions.status("late")["phase"] == "Pending"
    sessions.finish("s1")
    sessions.await_phase("late", "Completed")
