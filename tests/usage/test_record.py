"""What was used is on record, and a watcher that is stopped or killed takes it up again."""

import csv
import subprocess
import sys

import pytest

from embedded.controlplane.loopback import HOST
from tests.platform import ROOT, NewTenant, Platform
from tests.usage.cluster import PERIODS, await_phase, start_pods
from tests.waiting import eventually
from watcher.usage.hours import Hours, Series
from watcher.usage.store import UsageStore

NAMESPACE = "tenant-recorded"
PODS, QUOTA = 2, 20
EVER_S = 2.0**40
# Of hours, as they are told.
ROUNDING = 0.0001


def recorded(platform: Platform) -> Hours:
    """What is on record of the tenant's pods, as exact as it is."""
    store = UsageStore(platform.folder / "run" / "usage.db")
    return store.hours(0, EVER_S).get(Series("recorded", NAMESPACE, "pods"), Hours())


def await_record(platform: Platform) -> Hours:
    """What is on record after one more look of the watcher."""
    before = recorded(platform).recorded
    return eventually(
        lambda: found if (found := recorded(platform)).recorded > before else None, "the record has grown"
    )


def tenancy_usage(platform: Platform, *arguments: str) -> str:
    page = f"http://{HOST}:{platform.port}"
    command = [sys.executable, "-m", "cli.main", "usage", *arguments, "--watcher", page]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert told.returncode == 0, told.stderr
    return told.stdout


def test_record_of_use_goes_on_after_a_restart(platform: Platform, new_tenant: NewTenant) -> None:
    platform.await_active(new_tenant("recorded", plan="basic"))
    await_phase(platform, NAMESPACE, start_pods(platform, NAMESPACE, PODS), "Running")
    eventually(
        lambda: platform.metrics("tenancy_usage_used").get((NAMESPACE, "pods", "recorded")) == PODS,
        "the watcher knows of all pods",
    )
    # From here on, each record has them.
    first = await_record(platform)
    for restart in (platform.stop, platform.kill):
        restart()
        platform.start(*PERIODS)
        await_record(platform)

    before = await_record(platform)
    told = tenancy_usage(platform, "--since", "30d", "-o", "csv")
    after = await_record(platform)
    for now in (before, after):
        # No time is missing, and none is counted twice.
        time = now.recorded - first.recorded
        assert time > 0
        assert now.used - first.used == pytest.approx(PODS * time)
        assert now.hard - first.hard == pytest.approx(QUOTA * time)

    mine = {row["resource"]: row for row in csv.DictReader(told.splitlines()) if row["tenant"] == "recorded"}
    assert mine.keys() == {"cpu", "memory", "storage", "pods"}
    assert {row["namespace"] for row in mine.values()} == {NAMESPACE}
    for name, field in (("recorded", "recorded"), ("quota", "hard"), ("used", "used")):
        hours = float(mine["pods"][f"{name}_hours"])
        assert getattr(before, field) - ROUNDING <= hours <= getattr(after, field) + ROUNDING
    assert float(mine["storage"]["quota_hours"]) > 0 == float(mine["storage"]["used_hours"])
