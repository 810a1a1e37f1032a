"""A session that exceeds a quota waits, and its status contains the reason.

It starts when the quota allows it.
"""

from collections.abc import Iterator

import pytest

from tenancy.base.kinds import LIMIT_RANGE, RESOURCE_QUOTA
from tests.platform import Platform, tenant_manifest
from tests.sessions.record import records
from tests.sessions.sessions import Sessions, sessions_of
from tests.waiting import eventually

# The quota allows two sessions in each of the two namespaces.
TIGHT = tenant_manifest("tight", plan="tight", namespaces=[{"name": "a"}, {"name": "b"}])


@pytest.fixture(scope="module")
def tight(running_platform: Platform) -> Iterator[tuple[Sessions, Sessions]]:
    running_platform.apply(TIGHT)
    running_platform.await_active(TIGHT)
    yield sessions_of(running_platform, "tight", "a"), sessions_of(running_platform, "tight", "b")
    running_platform.delete(TIGHT)


@pytest.fixture
def namespaces(platform: Platform, tight: tuple[Sessions, Sessions]) -> Iterator[tuple[Sessions, Sessions]]:
    """The sessions of both namespaces.

    At the start of the test, there are no sessions, and the plan is the original one.
    """
    platform.apply(TIGHT)
    platform.await_active(TIGHT)
    yield tight
    for sessions in tight:
        sessions.clear()


def test_session_waits_for_the_quota_and_then_starts(namespaces: tuple[Sessions, Sessions]) -> None:
    one, other = namespaces
    for name in ("first", "second"):
        one.create(name, "endless")
        one.await_phase(name, "Running")
    one.create("third")
    status = one.await_phase("third", "Pending", "QuotaExceeded")
    assert "quota compute has less than 500m of cpu left" in status["message"]
    assert one.job("third") is None
    # The quota of a namespace does not affect sessions in another namespace.
    other.create("fourth")
    other.await_phase("fourth", "Completed")
    assert one.status("third")["phase"] == "Pending"
    one.finish("first")
    one.await_phase("third", "Completed")
    assert one.status("second")["phase"] == "Running"


def test_sessions_are_charged_to_the_tenants_quota(
    platform: Platform, namespaces: tuple[Sessions, Sessions]
) -> None:
    sessions = namespaces[0]

    def used() -> str | None:
        quota = platform.get("ResourceQuota", sessions.namespace, "compute") or {}
        cpu: str | None = ((quota.get("status") or {}).get("used") or {}).get("cpu")
        return cpu

    eventually(lambda: used() == "0", "nothing is in use")
    sessions.create("paid", "endless")
    sessions.await_phase("paid", "Running")
    assert used() == "500m"
    sessions.finish("paid")
    eventually(lambda: used() == "0", "the finished session no longer counts")


def test_raised_quota_starts_the_session(platform: Platform, namespaces: tuple[Sessions, Sessions]) -> None:
    sessions = namespaces[0]
    sessions.create("large", resources={"cpu": "2"})
    status = sessions.await_phase("large", "Pending", "QuotaExceeded")
    assert "request less, or ask for a larger quota" in status["message"]
    sessions.create("small")
    sessions.await_phase("small", "Completed")
    platform.apply({**TIGHT, "spec": {**TIGHT["spec"], "plan": "basic"}})
    sessions.await_phase("large", "Completed")


def test_session_waits_for_a_quota_that_is_not_managed(platform: Platform, sessions: Sessions) -> None:
    metadata = {"name": "own", "namespace": sessions.namespace}
    platform.admin.create(RESOURCE_QUOTA, {"metadata": metadata, "spec": {"hard": {"limits.cpu": "100m"}}})
    try:
        sessions.create("patient")
        status = sessions.await_phase("patient", "Pending", "QuotaExceeded")
        assert "quota own" in status["message"]
    finally:
        platform.admin.delete(RESOURCE_QUOTA, "own", sessions.namespace)
    sessions.await_phase("patient", "Completed")


def test_session_whose_pod_is_rejected_waits(platform: Platform, sessions: Sessions) -> None:
    jobs, _ = records(platform.admin)
    metadata = {"name": "narrow", "namespace": sessions.namespace}
    # The watcher does not check LimitRanges. The API server checks them when the pod is created.
    limits = [{"type": "Container", "max": {"cpu": "100m"}}]
    platform.admin.create(LIMIT_RANGE, {"metadata": metadata, "spec": {"limits": limits}})
    try:
        sessions.create("unlucky")
        status = sessions.await_phase("unlucky", "Pending", "PodRefused")
        assert "maximum cpu usage per Container is 100m" in status["message"]
        assert "job" not in status
        eventually(lambda: sessions.job("unlucky") is None, "its Job is deleted")
    finally:
        platform.admin.delete(LIMIT_RANGE, "narrow", sessions.namespace)
    sessions.await_phase("unlucky", "Completed")
    # The session ran in a second Job. So its timeout did not include the wait.
    eventually(lambda: jobs.started[sessions.namespace].count("unlucky") > 1, "both Jobs are recorded")
