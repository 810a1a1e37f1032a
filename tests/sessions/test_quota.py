"""A session that finds no room in the quota waits, says so, and starts by itself when room comes."""

from collections.abc import Iterator

import pytest

from tenancy.base.kinds import LIMIT_RANGE, RESOURCE_QUOTA
from tests.platform import Platform, tenant_manifest
from tests.sessions.record import records
from tests.sessions.sessions import Sessions, sessions_of
from tests.waiting import eventually

# Room for two sessions in each of its namespaces.
TIGHT = tenant_manifest("tight", plan="tight", namespaces=[{"name": "a"}, {"name": "b"}])


@pytest.fixture(scope="module")
def tight(running_platform: Platform) -> Iterator[tuple[Sessions, Sessions]]:
    running_platform.apply(TIGHT)
    running_platform.await_active(TIGHT)
    yield sessions_of(running_platform, "tight", "a"), sessions_of(running_platform, "tight", "b")
    running_platform.delete(TIGHT)


@pytest.fixture
def halves(platform: Platform, tight: tuple[Sessions, Sessions]) -> Iterator[tuple[Sessions, Sessions]]:
    """Both namespaces of the tenant, empty, with the plan that it has at first."""
    platform.apply(TIGHT)
    platform.await_active(TIGHT)
    yield tight
    for half in tight:
        half.clear()


def test_session_waits_for_room_and_starts_by_itself(halves: tuple[Sessions, Sessions]) -> None:
    one, other = halves
    for name in ("first", "second"):
        one.create(name, "endless")
        one.await_phase(name, "Running")
    one.create("third")
    status = one.await_phase("third", "Pending", "QuotaExceeded")
    assert "quota compute has no room for cpu 500m" in status["message"]
    assert one.job("third") is None
    # Room in one namespace is not another's, and nobody waits for it there.
    other.create("fourth")
    other.await_phase("fourth", "Completed")
    assert one.status("third")["phase"] == "Pending"
    one.finish("first")
    one.await_phase("third", "Completed")
    assert one.status("second")["phase"] == "Running"


def test_sessions_are_charged_to_the_tenants_quota(
    platform: Platform, halves: tuple[Sessions, Sessions]
) -> None:
    sessions = halves[0]

    def used() -> str | None:
        quota = platform.get("ResourceQuota", sessions.namespace, "compute") or {}
        cpu: str | None = ((quota.get("status") or {}).get("used") or {}).get("cpu")
        return cpu

    eventually(lambda: used() == "0", "nothing is in use")
    sessions.create("paid", "endless")
    sessions.await_phase("paid", "Running")
    assert used() == "500m"
    sessions.finish("paid")
    eventually(lambda: used() == "0", "what has ended is free again")


def test_raised_quota_is_room_too(platform: Platform, halves: tuple[Sessions, Sessions]) -> None:
    sessions = halves[0]
    sessions.create("large", resources={"cpu": "2"})
    status = sessions.await_phase("large", "Pending", "QuotaExceeded")
    assert "ask for less, or have the quota raised" in status["message"]
    sessions.create("small")
    sessions.await_phase("small", "Completed")
    platform.apply({**TIGHT, "spec": {**TIGHT["spec"], "plan": "basic"}})
    sessions.await_phase("large", "Completed")


def test_quota_of_somebody_elses_is_waited_for_too(platform: Platform, sessions: Sessions) -> None:
    metadata = {"name": "own", "namespace": sessions.namespace}
    platform.admin.create(RESOURCE_QUOTA, {"metadata": metadata, "spec": {"hard": {"limits.cpu": "100m"}}})
    try:
        sessions.create("patient")
        status = sessions.await_phase("patient", "Pending", "QuotaExceeded")
        assert "quota own" in status["message"]
    finally:
        platform.admin.delete(RESOURCE_QUOTA, "own", sessions.namespace)
    sessions.await_phase("patient", "Completed")


def test_pod_that_is_refused_all_the_same_is_waited_for(platform: Platform, sessions: Sessions) -> None:
    jobs, _ = records(platform.admin)
    metadata = {"name": "narrow", "namespace": sessions.namespace}
    # Of no figure that is looked at before: only the pod's admission knows.
    limits = [{"type": "Container", "max": {"cpu": "100m"}}]
    platform.admin.create(LIMIT_RANGE, {"metadata": metadata, "spec": {"limits": limits}})
    try:
        sessions.create("unlucky")
        status = sessions.await_phase("unlucky", "Pending", "PodRefused")
        assert "maximum cpu usage per Container is 100m" in status["message"]
        assert "job" not in status
        eventually(lambda: sessions.job("unlucky") is None, "its Job is taken back")
    finally:
        platform.admin.delete(LIMIT_RANGE, "narrow", sessions.namespace)
    sessions.await_phase("unlucky", "Completed")
    # By another Job: its timeout counts from there.
    eventually(lambda: jobs.begun[sessions.namespace].count("unlucky") > 1, "both Jobs are on record")
