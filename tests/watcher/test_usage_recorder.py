"""The recorder records the usage of live quotas. It continues after every error of the database file."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from cluster.live_objects import ManagedObjects
from tenancy.base.labels import object_labels
from tenancy.base.manifest import Manifest
from tests.platform import ROOT
from watcher.usage.hours import Hours, Series
from watcher.usage.recorder import UsageRecorder
from watcher.usage.store import UsageStore

NOW = 1_800_000_000
# Records three times while files cannot be written, and then once while files can be written again.
ON_A_FULL_DISK = """
import resource, sys
from pathlib import Path
from watcher.log import configure_log
from cluster.live_objects import ManagedObjects
from watcher.usage.recorder import UsageRecorder
from watcher.usage.store import UsageStore

configure_log("info")
recorder = UsageRecorder(UsageStore(Path(sys.argv[1])), ManagedObjects(), list)
_, hard_limit = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard_limit))
for minute in range(3):
    recorder.record(int(sys.argv[2]) + minute * 60)
resource.setrlimit(resource.RLIMIT_FSIZE, (hard_limit, hard_limit))
recorder.record(int(sys.argv[2]) + 180)
"""


def quota(tenant: str, namespace: str, cpu: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "tenant-quota", "namespace": namespace, "labels": object_labels(tenant)},
        "spec": {"hard": {"requests.cpu": "2", "requests.memory": "1Gi"}},
        "status": {"used": {"requests.cpu": cpu, "requests.memory": "512Mi"}},
    }


def test_live_quotas_are_recorded_in_base_units(tmp_path: Path) -> None:
    managed, names = ManagedObjects(), ["acme", "empty"]
    managed.put(None, quota("acme", "tenant-acme-a", "500m"))
    managed.put(None, quota("acme", "tenant-acme-b", "1"))
    # The quota of a deleted tenant. The objects of this tenant still exist.
    managed.put(None, quota("gone", "tenant-gone", "1"))
    store = UsageStore(tmp_path / "usage.db")
    recorder = UsageRecorder(store, managed, lambda: names)
    for second in range(0, 3601, 120):
        recorder.record(NOW + second)
    assert store.hours(NOW, NOW + 3600) == {
        Series("acme", "tenant-acme-a", "cpu"): Hours(0.5, 2, 1),
        Series("acme", "tenant-acme-a", "memory"): Hours(2**29, 2**30, 1),
        Series("acme", "tenant-acme-b", "cpu"): Hours(1, 2, 1),
        Series("acme", "tenant-acme-b", "memory"): Hours(2**29, 2**30, 1),
    }


def test_emptied_record_is_reported_and_raises_no_error(tmp_path: Path) -> None:
    store = UsageStore(tmp_path / "usage.db")
    recorder = UsageRecorder(store, ManagedObjects(), list)
    recorder.record(NOW)
    assert recorder.is_recording()
    with closing(sqlite3.connect(store.path)) as database, database:
        database.execute("DELETE FROM state")
    recorder.record(NOW + 60)
    assert not recorder.is_recording()


def test_locked_file_is_retried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("watcher.usage.database._BUSY_S", 0.1)
    store = UsageStore(tmp_path / "usage.db")
    recorder = UsageRecorder(store, ManagedObjects(), list)
    assert recorder.is_recording()
    recorder.record(NOW)
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        recorder.record(NOW + 60)
        assert not recorder.is_recording()
    recorder.record(NOW + 120)
    assert recorder.is_recording()


def test_damaged_file_is_reported_until_it_is_moved_away(tmp_path: Path) -> None:
    store = UsageStore(tmp_path / "usage.db")
    store.path.write_bytes(b"broken" * 1000)
    recorder = UsageRecorder(store, ManagedObjects(), list)
    for minute in range(2):
        recorder.record(NOW + 60 * minute)
        assert not recorder.is_recording()
    store.path.rename(tmp_path / "broken.db")
    recorder.record(NOW + 120)
    assert recorder.is_recording()


def test_full_disk_is_logged_once_and_recording_continues_when_there_is_space(tmp_path: Path) -> None:
    store = UsageStore(tmp_path / "usage.db")
    cpu = Series("acme", "tenant-acme", "cpu")
    for age_s in (180, 60):
        store.record(NOW - age_s, {cpu: (30, 60)})
    command = [sys.executable, "-c", ON_A_FULL_DISK, str(store.path), str(NOW)]
    completed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in completed.stderr.splitlines()]
    assert [line["message"] for line in lines] == ["usage not recorded", "usage is recorded again"]
    assert str(store.path) in lines[0]["problem"]
    assert store.hours(NOW - 3600, NOW + 3600) == {cpu: Hours(1, 2, 2 / 60)}
