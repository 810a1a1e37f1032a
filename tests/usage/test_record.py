"""What was used is on record, and a watcher that is stopped or killed takes it up again."""

import csv
import json
import subprocess
import sys

import pytest

from embedded.controlplane.loopback import HOST
from tests.platform import ROOT, NewTenant, Platform
from tests.usage.cluster import await_phase, start_pods
from tests.waiting import eventually

NAMESPACE = "tenant-recorded"
# Of hours, as they are told.
ROUNDING = 0.0001


def recorded_hours(platform: Platform, field: str, resource: str = "pods") -> float:
    answer, text = platform.ask("/api/usage?tenant=recorded")
    rows = json.loads(text)["rows"] if answer == 200 else []
    return sum(float(row[field]) for row in rows if row["resource"] == resource)


def tenancy_usage(platform: Platform, *arguments: str) -> str:
    page = f"http://{HOST}:{platform.port}"
    command = [sys.executable, "-m", "cli.main", "usage", *arguments, "--watcher", page]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert told.returncode == 0, told.stderr
    return told.stdout


def test_record_of_use_goes_on_after_a_restart(platform: Platform, new_tenant: NewTenant) -> None:
    platform.await_active(new_tenant("recorded", plan="basic"))
    await_phase(platform, NAMESPACE, start_pods(platform, NAMESPACE, 2), "Running")
    # Each start is a look, so nobody has to wait for a minute to pass.
    for restart in (platform.stop, platform.kill, platform.stop):
        before = recorded_hours(platform, "usedHours")
        restart()
        platform.start()
        eventually(
            lambda before=before: recorded_hours(platform, "usedHours") > before or not before,  # type: ignore[misc]
            "the record has grown",
        )
    eventually(lambda: recorded_hours(platform, "usedHours"), "there is a record")

    rows = list(csv.DictReader(tenancy_usage(platform, "--since", "30d", "-o", "csv").splitlines()))
    mine = {row["resource"]: row for row in rows if row["tenant"] == "recorded"}
    assert mine.keys() == {"cpu", "memory", "storage", "pods"}
    assert {row["namespace"] for row in mine.values()} == {NAMESPACE}
    # Of 20, as long as there is a record; of that, 2 since they run.
    recorded, quota, used = (float(mine["pods"][f"{name}_hours"]) for name in ("recorded", "quota", "used"))
    assert quota == pytest.approx(20 * recorded, abs=20 * ROUNDING)
    assert 0 < used <= 2 * recorded + 2 * ROUNDING
    assert float(mine["storage"]["quota_hours"]) > 0 == float(mine["storage"]["used_hours"])
