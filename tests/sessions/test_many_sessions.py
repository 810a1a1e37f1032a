"""Many tenants run many sessions, and the watcher crashes. Each session runs once and ends as expected.

At no time does a tenant run more sessions than its limit.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.platform import Platform, tenant_manifest
from tests.sessions.record import Record, records
from tests.sessions.sessions import Sessions, sessions_of, start_watcher
from tests.waiting import eventually

LIMIT = 3


@pytest.fixture
def crowd(platform: Platform, request: pytest.FixtureRequest) -> Iterator[list[Sessions]]:
    """The sessions of each tenant. The parameter of the fixture is the number of tenants."""
    manifests = [tenant_manifest(f"crowd-{number}") for number in range(request.param)]
    for manifest in manifests:
        platform.apply(manifest)
    for manifest in manifests:
        platform.await_active(manifest)
    yield [sessions_of(platform, manifest["metadata"]["name"]) for manifest in manifests]
    for manifest in manifests:
        platform.delete(manifest)


@pytest.mark.parametrize(
    ("crowd", "session_count"),
    [pytest.param(4, 12, id="48 sessions"), pytest.param(10, 20, id="200 sessions", marks=pytest.mark.long)],
    indirect=["crowd"],
)
def test_sessions_of_many_tenants_end_as_they_should(
    platform: Platform, crowd: list[Sessions], session_count: int, plans_file: Path
) -> None:
    names = [f"s{number:02}" for number in range(session_count)]
    # These sessions run until the test ends them. So not all sessions have finished before the crash.
    held = names[session_count // 2 : session_count // 2 + LIMIT]
    # Every fourth session must fail.
    outcomes = {name: "Failed" if number % 4 == 3 else "Completed" for number, name in enumerate(names)}
    jobs, pods = records(platform.admin)
    for name in names:
        model = "endless" if name in held else "bad" if outcomes[name] == "Failed" else "good"
        for sessions in crowd:
            sessions.create(name, model)
    total = len(crowd) * session_count

    def finished_count(record: Record) -> int:
        return sum(record.finished_counts[sessions.namespace] for sessions in crowd)

    eventually(lambda: finished_count(pods) > total // 4, "a quarter has finished")
    platform.kill()
    assert finished_count(pods) < total
    start_watcher(platform, plans_file)
    for sessions in crowd:
        for name in held:
            sessions.await_phase(name, "Running")
    for sessions in crowd:
        for name in held:
            sessions.finish(name, "fail" if outcomes[name] == "Failed" else "complete")
    eventually(
        lambda: all(sessions.phases() == outcomes for sessions in crowd),
        "all sessions have finished",
        timeout_s=200,
    )
    eventually(lambda: finished_count(jobs) == finished_count(pods) == total, "the records contain every end")
    assert jobs.is_complete
    assert pods.is_complete
    for sessions in crowd:
        for record in (jobs, pods):
            assert record.peaks[sessions.namespace] == LIMIT
            # Each session was started once. The Jobs were created in the order of the sessions, oldest first.
            assert sorted(record.started[sessions.namespace]) == names
        assert jobs.started[sessions.namespace] == names
        for session in sessions.all().values():
            assert session["status"]["startTime"] <= session["status"]["completionTime"]
        assert platform.pulumi_run_count(tenant=sessions.tenant) == 0, "a session ran a stack"
