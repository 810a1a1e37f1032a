"""Many sessions of many tenants, and a watcher that dies in the middle: each is run once and ends as it
should, and at no moment do more of a tenant's run than may."""

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
    """As many tenants as the test asks for."""
    manifests = [tenant_manifest(f"crowd-{number}") for number in range(request.param)]
    for manifest in manifests:
        platform.apply(manifest)
    for manifest in manifests:
        platform.await_active(manifest)
    yield [sessions_of(platform, manifest["metadata"]["name"]) for manifest in manifests]
    for manifest in manifests:
        platform.delete(manifest)


@pytest.mark.parametrize(
    ("crowd", "each"),
    [pytest.param(4, 12, id="48 sessions"), pytest.param(10, 20, id="200 sessions", marks=pytest.mark.long)],
    indirect=["crowd"],
)
def test_sessions_of_many_tenants_end_as_they_should(
    platform: Platform, crowd: list[Sessions], each: int, plans_file: Path
) -> None:
    names = [f"s{number:02}" for number in range(each)]
    # Half way, as many as may run at once wait to be let go: so the crash never comes after the end.
    held = names[each // 2 : each // 2 + LIMIT]
    # Every fourth fails.
    ends = {name: "Failed" if number % 4 == 3 else "Completed" for number, name in enumerate(names)}
    jobs, pods = records(platform.admin)
    for name in names:
        model = "endless" if name in held else "bad" if ends[name] == "Failed" else "good"
        for sessions in crowd:
            sessions.create(name, model)
    total = len(crowd) * each

    def ended(record: Record) -> int:
        return sum(record.ended[sessions.namespace] for sessions in crowd)

    eventually(lambda: ended(pods) > total // 4, "a quarter has ended")
    platform.kill()
    assert ended(pods) < total
    start_watcher(platform, plans_file)
    for sessions in crowd:
        for name in held:
            sessions.await_phase(name, "Running")
    for sessions in crowd:
        for name in held:
            sessions.finish(name, "fail" if ends[name] == "Failed" else "complete")
    eventually(lambda: all(sessions.phases() == ends for sessions in crowd), "all have ended", timeout_s=200)
    eventually(lambda: ended(jobs) == ended(pods) == total, "the records tell of every end")
    assert jobs.is_whole
    assert pods.is_whole
    for sessions in crowd:
        for record in (jobs, pods):
            assert record.peaks[sessions.namespace] == LIMIT
            # Once each, and in the order of their age.
            assert sorted(record.begun[sessions.namespace]) == names
        assert jobs.begun[sessions.namespace] == names
        for found in sessions.all().values():
            assert found["status"]["startTime"] <= found["status"]["completionTime"]
        assert platform.runs(tenant=sessions.tenant) == 0, "a session ran a stack"
