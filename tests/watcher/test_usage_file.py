"""The file of the usage database: its mode, concurrent readers, crashes, damage, and other versions."""

import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.platform import ROOT
from tests.watcher.usage_records import CPU, HOUR, MINUTE, NOON, hours, record_period
from watcher.usage.database import UsageUnavailable, writing
from watcher.usage.hours import Hours
from watcher.usage.store import UsageStore


@pytest.fixture
def store(tmp_path: Path) -> UsageStore:
    return UsageStore(tmp_path / "folder" / "usage.db")


def test_only_the_owner_can_read_the_files(tmp_path: Path) -> None:
    store = UsageStore(tmp_path / "usage.db")
    with writing(store.path):
        modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    assert modes == dict.fromkeys(("usage.db", "usage.db-wal", "usage.db-shm"), 0o600)


def test_process_killed_during_a_write_leaves_a_consistent_record(store: UsageStore) -> None:
    record_period(store, NOON, NOON + HOUR)
    script = (
        "import os, pathlib, sys; from watcher.usage.database import writing\n"
        "with writing(pathlib.Path(sys.argv[1])) as database:\n"
        "    database.execute('DELETE FROM span'); os.kill(os.getpid(), 9)"
    )
    completed = subprocess.run([sys.executable, "-c", script, str(store.path)], cwd=ROOT, check=False)
    assert completed.returncode == -9
    assert hours(store).recorded == 1
    record_period(store, NOON + HOUR + 2 * MINUTE, NOON + 2 * HOUR)
    assert hours(store).recorded == 2


def test_readers_and_the_writer_do_not_wait_for_each_other(store: UsageStore) -> None:
    record_period(store, NOON, NOON + HOUR)
    with writing(store.path) as database:
        database.execute("DELETE FROM span")
        results: list[Hours] = []
        reader = threading.Thread(target=lambda: results.append(hours(store)))
        reader.start()
        reader.join(30)
        assert results == [Hours(1, 4, 1)]


def test_reading_before_the_first_record_is_an_error(store: UsageStore) -> None:
    with pytest.raises(UsageUnavailable, match="nothing is recorded there yet"):
        store.hours(0, NOON)


def test_file_that_is_not_a_database_is_left_alone(store: UsageStore) -> None:
    store.path.parent.mkdir()
    store.path.write_text("my own notes, and more than a few of them" * 100)
    before = store.path.read_bytes()
    with pytest.raises(UsageUnavailable, match="not a database"):
        store.record(NOON, {})
    with pytest.raises(UsageUnavailable, match="not a database"):
        store.hours(0, NOON)
    assert store.path.read_bytes() == before


def test_error_for_a_damaged_file_says_what_to_do(store: UsageStore) -> None:
    for minute in range(300):
        store.record(NOON + minute * MINUTE, {CPU: (minute, 400)})
    with sqlite3.connect(store.path) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = store.path.stat().st_size
    with store.path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    for operation in (
        lambda: store.record(NOON + 300 * MINUTE, {CPU: (1, 2)}),
        lambda: store.hours(0, 2 * NOON),
    ):
        with pytest.raises(UsageUnavailable, match="malformed; rename this file"):
            operation()
    store.path.rename(store.path.with_suffix(".broken"))
    record_period(store, NOON, NOON + HOUR)
    assert hours(store).recorded == 1


def test_file_of_a_newer_version_is_left_alone(store: UsageStore) -> None:
    record_period(store, NOON, NOON + MINUTE)
    with sqlite3.connect(store.path) as database:
        database.execute("PRAGMA user_version = 99")
    for operation in (lambda: store.record(NOON + MINUTE, {}), lambda: store.hours(0, NOON)):
        with pytest.raises(UsageUnavailable, match="newer version"):
            operation()
