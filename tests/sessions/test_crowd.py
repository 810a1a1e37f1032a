"""Two hundred sessions of ten tenants, and a watcher that dies in the middle: each is run once and ends as it
should, and at no moment do more of a tenant's run than may."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tenancy.kinds import TENANTS as KINDS
from tenancy.manifest import Manifest
from tests.platform import Platform, tenant_manifest
from tests.sessions.record import records
from tests.sessions.sessions import Sessions, sessions_of
from tests.waiting import eventually
from watcher.tenants import is_deleting

TENANTS, EACH, LIMIT = 10, 20, 3
NAMES = [f"s{number:02}" for number in range(EACH)]
# Every fourth fails.
ENDS = {name: "Failed" if number % 4 == 3 else "Completed" for number, name in enumerate(NAMES)}


def leaving(platform: Platform) -> list[Manifest]:
    return [found for kind in KINDS for found in platform.admin.list(kind)[0] if is_deleting(found)]


@pytest.fixture
def crowd(platform: Platform) -> Iterator[list[Sessions]]:
    # Those of tests before: their stacks are destroyed in the watcher's own time, and would be counted here.
    eventually(lambda: not leaving(platform), "no tenant is on its way out")
    manifests = [tenant_manifest(f"crowd-{number}") for number in range(TENANTS)]
    for manifest in manifests:
        platform.apply(manifest)
    for manifest in manifests:
        platform.await_active(manifest)
    yield [sessions_of(platform, manifest["metadata"]["name"]) for manifest in manifests]
    for manifest in manifests:
        platform.delete(manifest)


def test_two_hundred_sessions_end_as_they_should(
    platform: Platform, crowd: list[Sessions], plans_file: Path
) -> None:
    jobs, pods = records(platform.admin)
    for name in NAMES:
        for sessions in crowd:
            sessions.create(name, "bad" if ENDS[name] == "Failed" else "good")
    total = TENANTS * EACH
    eventually(lambda: pods.ended > total // 4, "a quarter has ended")
    platform.kill()
    assert pods.ended < total
    platform.start("--plans", str(plans_file))
    started = platform.runs()
    eventually(lambda: all(sessions.phases() == ENDS for sessions in crowd), "all have ended", timeout_s=200)
    eventually(lambda: jobs.ended == pods.ended == total, "the records tell of every end")
    assert jobs.is_whole
    assert pods.is_whole
    for sessions in crowd:
        for record in (jobs, pods):
            assert record.peaks[sessions.namespace] == LIMIT
            # Once each, and in the order of their age.
            assert sorted(record.begun[sessions.namespace]) == NAMES
        assert jobs.begun[sessions.namespace] == NAMES
        for found in sessions.all().values():
            assert found["status"]["startTime"] <= found["status"]["completionTime"]
    assert platform.runs() == started, "a session ran a stack"
