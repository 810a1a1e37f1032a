"""Prunes the history of a stack. The updates run with the real engine."""

import json
import os
import socket
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

from stacks.history import updates_from_json
from stacks.project import work_folder
from stacks.storage.pruning import HistoryLimits, Pruned
from tests.stacks.conftest import OpenStacks, desired
from tests.stacks.test_history import record
from tests.waiting import eventually


def lock(state: Path, stack: str, pid: int) -> Path:
    file = state / ".pulumi" / "locks" / "organization" / "tenancy" / stack / "other.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    content = {"pid": pid, "username": "me", "hostname": socket.gethostname()}
    file.write_text(json.dumps({**content, "timestamp": datetime.now(UTC).isoformat()}))
    return file


def test_pruned_history_keeps_the_numbers_of_its_updates(open_stacks: OpenStacks, tmp_path: Path) -> None:
    stacks, command = open_stacks()
    state = desired("pruned")
    for generation in (1, 2, 3):
        stacks.up(state, f"spec generation {generation}", record(state, {}))
    assert stacks.histories.prune(["pruned", "nobody"], HistoryLimits(2, 90)) == [
        Pruned("tenant-pruned", removed=1, kept=2),
        Pruned("tenant-nobody", removed=0, kept=0),
    ]
    files = list((tmp_path / "state" / ".pulumi" / "history" / "tenancy" / "tenant-pruned").iterdir())
    assert sorted(file.name.partition(".")[2] for file in files) == [
        *(["checkpoint.json.gz"] * 2),
        *(["history.json.gz"] * 2),
    ]
    expected = [(3, "spec generation 3"), (2, "spec generation 2")]
    updates = stacks.history("pruned")
    assert [(update.version, update.cause) for update in updates] == expected
    assert updates[1].record == record(state, {})
    # The Pulumi CLI shows the same history with the same numbers.
    with work_folder(tmp_path, "by-hand", None) as folder:
        output = command.run(
            ["stack", "history", "--json", "--full-dates", "--stack", "tenant-pruned"],
            str(folder),
            {"PULUMI_BACKEND_URL": f"file://{tmp_path / 'state'}"},
        ).stdout
    assert [(update.version, update.cause) for update in updates_from_json(output)] == expected
    assert stacks.up(state, "spec generation 4").version == 4
    stacks.destroy("pruned", "bye")


def test_locked_stack_is_not_pruned(open_stacks: OpenStacks, tmp_path: Path) -> None:
    stacks, _ = open_stacks()
    state = desired("pruned-locked")
    for generation in (1, 2):
        stacks.up(state, f"spec generation {generation}")
    held = lock(tmp_path / "state", "tenant-pruned-locked", os.getpid())
    (result,) = stacks.histories.prune(["pruned-locked"], HistoryLimits(1, 90))
    assert result.removed == 0
    assert "locked" in result.problem
    held.unlink()
    assert stacks.histories.prune(["pruned-locked"], HistoryLimits(1, 90)) == [
        Pruned("tenant-pruned-locked", removed=1, kept=1)
    ]
    assert not list(held.parent.iterdir())
    stacks.destroy("pruned-locked", "bye")


def test_update_waits_while_its_stack_is_pruned(open_stacks: OpenStacks, tmp_path: Path) -> None:
    stacks, command = open_stacks()
    state = desired("pruned-meanwhile")
    stacks.up(state, "spec generation 1")
    held = lock(tmp_path / "state", "tenant-pruned-meanwhile", 1)
    # A child process that holds the lock until the file `stop` exists.
    program = (
        "import os, sys, json, time; lock, stop = sys.argv[1:]\n"
        "held = {**json.load(open(lock)), 'pid': os.getpid()}\n"
        "json.dump(held, open(stop + '.lock', 'w')); os.replace(stop + '.lock', lock)\n"
        "while not os.path.exists(stop): time.sleep(0.05)\n"
        "os.unlink(lock)"
    )
    stop = tmp_path / "stop"
    arguments = ["-c", program, str(held), str(stop)]
    holder = threading.Thread(
        target=command.execute, args=([sys.executable], arguments, str(tmp_path), os.environ)
    )
    holder.start()
    eventually(lambda: json.loads(held.read_text())["pid"] != 1, "the command holds the lock")
    command.commands.clear()
    results = []
    updating = threading.Thread(target=lambda: results.append(stacks.up(state, "spec generation 2")))
    updating.start()
    eventually(lambda: command.commands.count("up") > 1, "the update is tried again")
    stop.touch()
    updating.join(120)
    holder.join(60)
    assert [result.version for result in results] == [2]
    assert "cancel" not in command.commands
    stacks.destroy("pruned-meanwhile", "bye")
