"""The operations on a tenant's stack: their effects, their results, and the processes that they start."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from cluster.client import Cluster
from embedded.controlplane.plane import ControlPlane
from stacks.command import WORK_FOLDER_VARIABLE, kill_leftover_commands
from stacks.errors import ClusterUnreachable, StackError, StackStopped, StackTimeout, StorageFailed
from stacks.operation import EngineName
from stacks.project import clear_run_folder, lock_run_folder
from tenancy.base.kinds import NAMESPACE, ROLE_BINDING
from tenancy.base.manifest import object_key
from tenancy.drift import field_differences, object_drift
from tests.checkpoint import stack_file
from tests.stacks.conftest import OpenStacks, desired, on_both_engines
from tests.waiting import eventually


@on_both_engines
def test_each_operation_is_at_most_one_process(open_stacks: OpenStacks, engine: EngineName) -> None:
    stacks, command = open_stacks()
    is_warm, name = engine is EngineName.WARM, f"ops-{engine}"
    basic, pro = desired(name), desired(name, plan="pro")
    # The first stack of a backend needs more CLI commands, because they also write the backend's metadata.
    stacks.up(desired("first"), "spec generation 1")
    assert command.commands == ([] if is_warm else ["up", "stack", "up"])
    command.commands.clear()

    created = stacks.up(basic, "spec generation 1")
    assert created.counts == {"create": len(basic.manifests) + 2}  # the stack and the component
    assert (created.stack, created.operation, created.version) == (f"tenant-{name}", "up", 1)
    assert created.has_changes

    changed = [key for key, manifest in pro.by_key.items() if manifest != basic.by_key.get(key)]
    planned = stacks.preview(pro)
    assert planned.counts == {"same": len(basic.manifests) + 2 - len(changed), "update": len(changed)}

    # The changed fields of the recorded objects are those that differ between the plans.
    assert stacks.up(pro, "spec generation 2").counts == planned.counts
    recorded = {object_key(manifest): manifest for manifest in stacks.objects(name)}
    for key, manifest in basic.by_key.items():
        differences = field_differences(manifest, recorded[key])
        assert list(differences) == list(field_differences(manifest, pro.by_key[key]))
    stacks.up(basic, "spec generation 1 again")

    assert not stacks.up(basic, "again").has_changes
    recorded = {object_key(manifest): manifest for manifest in stacks.objects(name)}
    assert recorded.keys() == basic.by_key.keys()
    assert all(object_drift(manifest, recorded[key]) is None for key, manifest in basic.by_key.items())
    assert not stacks.refresh(name, "look").has_changes
    destroyed = stacks.destroy(name, "bye")
    assert destroyed is not None
    assert destroyed.counts["delete"] == len(basic.manifests) + 2
    assert command.commands == (
        ["stack", "stack"]
        if is_warm
        else ["up", "preview", "up", "stack", "up", "up", "stack", "refresh", "destroy"]
    )


@on_both_engines
def test_version_is_the_number_of_updates_in_the_history(open_stacks: OpenStacks, tmp_path: Path) -> None:
    stacks, _ = open_stacks()
    for round_ in (1, 2, 3):
        result = stacks.up(desired("counted"), f"round {round_}")
    (tmp_path / "Pulumi.yaml").write_text("name: tenancy\nruntime: python\n")
    history = subprocess.run(
        ["pulumi", "stack", "history", "--json", "--stack", "tenant-counted", "--non-interactive"],
        env={**os.environ, "PULUMI_BACKEND_URL": f"file://{tmp_path / 'state'}"},
        cwd=tmp_path,
        capture_output=True,
        check=True,
    ).stdout
    assert [update["message"] for update in json.loads(history)] == ["round 3", "round 2", "round 1"]
    assert result.version == 3

    # By default, the CLI shows only 10 updates. Add copies of the first update as older updates.
    folder = tmp_path / "state" / ".pulumi" / "history" / "tenancy" / "tenant-counted"
    first = min(folder.glob("*.history.json.gz"))
    for number in range(1, 11):
        (folder / f"tenant-counted-{number:019}.history.json.gz").write_bytes(first.read_bytes())
    updates = stacks.history("counted")
    assert [update.version for update in updates] == list(range(13, 0, -1))
    assert [update.cause for update in updates] == ["round 3", "round 2", *["round 1"] * 11]
    assert stacks.up(desired("counted"), "round 4").version == 14


@on_both_engines
def test_preview_changes_nothing(open_stacks: OpenStacks, tmp_path: Path) -> None:
    stacks, _ = open_stacks()
    stacks.up(desired("looked"), "spec generation 1")
    state = stack_file(tmp_path / "state", "looked")
    before = state.read_bytes()
    assert stacks.preview(desired("looked", plan="pro")).counts["update"] > 0
    assert state.read_bytes() == before


@on_both_engines
def test_destroying_a_missing_stack_does_nothing(open_stacks: OpenStacks) -> None:
    stacks, _ = open_stacks()
    assert stacks.destroy("nobody", "bye") is None


@on_both_engines
def test_removed_user_is_no_longer_bound(open_stacks: OpenStacks, control_plane: ControlPlane) -> None:
    stacks, _ = open_stacks()
    cluster = Cluster.connect(control_plane.kubeconfig)
    for users in (["alice", "eve"], ["alice"], []):
        stacks.up(desired("bound", adminUsers=users), f"admins: {users}")
        binding = cluster.get(ROLE_BINDING, "tenant-admin", "tenant-bound")
        assert binding is not None
        assert [subject["name"] for subject in binding.get("subjects") or ()] == users


@on_both_engines
def test_failed_destroy_is_an_error_and_deletes_nothing(
    open_stacks: OpenStacks, control_plane: ControlPlane, tmp_path: Path, engine: EngineName
) -> None:
    stacks, _ = open_stacks()
    name = f"stays-{engine}"
    stacks.up(desired(name), "spec generation 1")
    state = stack_file(tmp_path / "state", name)
    good = state.read_bytes()
    state.write_bytes(good[: len(good) // 2])
    with pytest.raises(StackError):
        stacks.destroy(name, "bye")
    namespace = Cluster.connect(control_plane.kubeconfig).get(NAMESPACE, f"tenant-{name}")
    assert namespace is not None
    assert "deletionTimestamp" not in namespace["metadata"]
    state.write_bytes(good)
    stacks.destroy(name, "bye")


@on_both_engines
def test_operation_over_its_time_limit_is_ended_with_all_it_started(
    open_stacks: OpenStacks, engine: EngineName, tmp_path: Path
) -> None:
    stacks, command = open_stacks()
    stacks.up(desired("slow"), "spec generation 1")
    command.timeout_s = 0.4
    with pytest.raises(StackTimeout, match=r"up took longer than 0\.4 s"):
        stacks.up(desired("slow", namespaces=[{"name": f"n{n}"} for n in range(5)]), "spec generation 2")
    # Only the warm engine and its provider are still running.
    kept, process_count = (["engine.1"], 2) if engine is EngineName.WARM else ([], 0)
    assert sorted(entry.name for entry in (tmp_path / "run").iterdir()) == [*kept, "home", "lock"]
    processes = [
        process
        for process in psutil.process_iter(["environ"])
        if (process.info["environ"] or {}).get(WORK_FOLDER_VARIABLE, "").startswith(str(tmp_path))
    ]
    assert len(processes) == process_count
    command.timeout_s = 120
    stacks.up(desired("slow"), "spec generation 3")


def test_unusable_run_folder_is_reported(open_stacks: OpenStacks, tmp_path: Path) -> None:
    stacks, _ = open_stacks()
    run_dir = tmp_path / "run"
    run_dir.rename(tmp_path / "away")
    run_dir.write_text("in the way")
    with pytest.raises(StorageFailed, match="Not a directory"):
        stacks.up(desired("nowhere"), "spec generation 1")


@on_both_engines
def test_unreachable_cluster_is_reported(
    open_stacks: OpenStacks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stacks, _ = open_stacks()
    nowhere = tmp_path / "nowhere.kubeconfig"
    text = Path(os.environ["KUBECONFIG"]).read_text()
    url = next(line.split("server: ")[1] for line in text.splitlines() if "server: " in line)
    nowhere.write_text(text.replace(url, "https://127.0.0.1:1"))
    monkeypatch.setenv("KUBECONFIG", str(nowhere))
    with pytest.raises(ClusterUnreachable, match="unreachable"):
        stacks.up(desired("far"), "spec generation 1")


@on_both_engines
def test_stopping_interrupts_running_operations_and_starts_no_more(open_stacks: OpenStacks) -> None:
    stacks, command = open_stacks()
    failures: list[BaseException] = []

    def work() -> None:
        try:
            stacks.up(
                desired("stopped", namespaces=[{"name": f"n{n}"} for n in range(5)]), "spec generation 1"
            )
        except StackStopped as stopped:
            failures.append(stopped)

    worker = threading.Thread(target=work)
    worker.start()
    eventually(
        lambda: command.commands or (stacks.engine and stacks.engine.status().get("running")),
        "the operation is running",
    )
    stacks.stop()
    worker.join(60)
    assert len(failures) == 1
    with pytest.raises(StackStopped):
        stacks.up(desired("stopped"), "spec generation 1")


def test_commands_left_by_a_killed_process_are_killed(tmp_path: Path) -> None:
    orphan = _sleeper(tmp_path / "tenant-x.abc")
    try:
        assert kill_leftover_commands(tmp_path) == 1
        assert orphan.wait(timeout=30) == -signal.SIGKILL
    finally:
        orphan.kill()


def test_processes_of_another_run_folder_are_left_alone(tmp_path: Path) -> None:
    other = _sleeper(tmp_path / "other" / "tenant-x.abc")
    try:
        assert kill_leftover_commands(tmp_path) == 0
        assert other.poll() is None
    finally:
        other.kill()


def test_run_folder_belongs_to_one_watcher_and_starts_empty(open_stacks: OpenStacks, tmp_path: Path) -> None:
    holder = open_stacks()
    with pytest.raises(StorageFailed, match="in use by another watcher"):
        lock_run_folder(tmp_path / "run")
    del holder
    lock_run_folder(tmp_path / "run").close()
    left = tmp_path / "crashed" / "tenant-x.abc"
    left.mkdir(parents=True)
    with lock_run_folder(left.parent):
        clear_run_folder(left.parent)
        assert not left.exists()


def _sleeper(folder: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    return subprocess.Popen(
        command, env={**os.environ, WORK_FOLDER_VARIABLE: str(folder)}, start_new_session=True
    )
