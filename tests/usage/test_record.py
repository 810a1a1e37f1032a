"""The watcher records usage. After a stop or a kill of the watcher, the record continues."""

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
POD_COUNT, POD_QUOTA = 2, 20
EVER_S = 2.0**40
# The precision of the hours in reports.
ROUNDING = 0.0001


def recorded(platform: Platform) -> Hours:
    """The recorded hours of the tenant's pods, without rounding."""
    store = UsageStore(platform.folder / "run" / "usage.db")
    return store.hours(0, EVER_S).get(Series("recorded", NAMESPACE, "pods"), Hours())


def await_record(platform: Platform) -> Hours:
    """Wait until the watcher records usage again. Returns the recorded hours."""
    before = recorded(platform).recorded
    return eventually(
        lambda: hours if (hours := recorded(platform)).recorded > before else None, "the record has grown"
    )


def tenancy_usage(platform: Platform, *arguments: str) -> str:
    page = f"http://{HOST}:{platform.port}"
    command = [sys.executable, "-m", "cli.main", "usage", *arguments, "--watcher", page]
    completed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


def test_usage_record_continues_after_a_restart(platform: Platform, new_tenant: NewTenant) -> None:
    platform.await_active(new_tenant("recorded", plan="basic"))
    await_phase(platform, NAMESPACE, start_pods(platform, NAMESPACE, POD_COUNT), "Running")
    eventually(
        lambda: platform.metrics("tenancy_usage_used").get((NAMESPACE, "pods", "recorded")) == POD_COUNT,
        "the watcher counts all pods",
    )
    # All later records include the pods.
    first = await_record(platform)
    for restart in (platform.stop, platform.kill):
        restart()
        platform.start(*PERIODS)
        await_record(platform)

    before = await_record(platform)
    report = tenancy_usage(platform, "--since", "30d", "-o", "csv")
    after = await_record(platform)
    for now in (before, after):
        # No period of time is missing, and no period is counted twice.
        recorded_h = now.recorded - first.recorded
        assert recorded_h > 0
        assert now.used - first.used == pytest.approx(POD_COUNT * recorded_h)
        assert now.hard - first.hard == pytest.approx(POD_QUOTA * recorded_h)

    rows = {
        row["resource"]: row for row in csv.DictReader(report.splitlines()) if row["tenant"] == "recorded"
    }
    assert rows.keys() == {"cpu", "memory", "storage", "pods"}
    assert {row["namespace"] for row in rows.values()} == {NAMESPACE}
    for name, field in (("recorded", "recorded"), ("quota", "hard"), ("used", "used")):
        hours = float(rows["pods"][f"{name}_hours"])
        assert getattr(before, field) - ROUNDING <= hours <= getattr(after, field) + ROUNDING
    assert float(rows["storage"]["quota_hours"]) > 0 == float(rows["storage"]["used_hours"])
