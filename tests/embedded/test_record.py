"""The record of an instance is live only if a process with the recorded ID and start time is running."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from embedded.environment import FOLDER_VARIABLE
from embedded.run.record import SUPERVISOR, InstanceRecord, ProcessIdentity, live_record
from embedded.run.state_folder import StateFolder


def record_of(supervisor: ProcessIdentity) -> InstanceRecord:
    tools = {"etcd": "/bin/etcd"}
    return InstanceRecord("kubeconfig", "file:///state", tools, processes={SUPERVISOR: supervisor})


def test_record_of_a_running_supervisor_is_read_back_whole(tmp_path: Path) -> None:
    identity = ProcessIdentity.of(os.getpid())
    assert identity is not None
    record = record_of(identity)
    record.write(tmp_path / "session.json")
    assert live_record(tmp_path / "session.json") == record
    assert record.live_pids() == {SUPERVISOR: os.getpid()}


def test_record_of_a_dead_process_is_stale(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        identity = ProcessIdentity.of(process.pid)
    assert identity is not None
    record_of(identity).write(tmp_path / "session.json")
    assert live_record(tmp_path / "session.json") is None


def test_process_that_got_the_id_of_a_dead_one_is_not_taken_for_it(tmp_path: Path) -> None:
    identity = ProcessIdentity.of(os.getpid())
    assert identity is not None
    record_of(ProcessIdentity(identity.pid, identity.started - 3600)).write(tmp_path / "session.json")
    assert live_record(tmp_path / "session.json") is None


@pytest.mark.parametrize("text", ["", "{}", '{"version": 9}', "[]"])
def test_record_that_makes_no_sense_counts_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "session.json").write_text(text)
    assert live_record(tmp_path / "session.json") is None


def test_passphrase_is_made_once_and_kept_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    folder = StateFolder.current()
    assert folder.passphrase() == folder.passphrase() != ""
    assert (tmp_path / "passphrase").stat().st_mode & 0o777 == 0o600
