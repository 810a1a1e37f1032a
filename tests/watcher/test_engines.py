"""The watcher behaves in the same way with both engines.

If the warm engine cannot be used, the watcher reports it.
"""

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from stacks.engine.protocol import STATUS, answer_from_line
from stacks.operation import EngineName
from tenancy.base.manifest import Manifest
from tests.checkpoint import stack_file
from tests.platform import NewTenant, Platform, tenant_manifest
from tests.waiting import eventually

POLICY = "default-deny-all"


@pytest.fixture(scope="module", params=EngineName)
def engine(running_platform: Platform, request: pytest.FixtureRequest) -> Iterator[EngineName]:
    """The engine of the running watcher. The fixture starts the watcher with each of the two engines."""
    running_platform.stop()
    running_platform.start("--engine", request.param)
    yield request.param
    running_platform.stop()


@pytest.fixture
def platform(running_platform: Platform, engine: EngineName) -> Platform:
    running_platform.ensure_started("--engine", engine)
    return running_platform


def version(platform: Platform, manifest: Manifest) -> int:
    tenant = platform.tenant(manifest) or {}
    return int(tenant["status"]["lastUpdate"]["version"])


def operations(platform: Platform, tenant: str) -> set[str]:
    """The names of the operations on the tenant's stack that ran in separate processes."""
    lines = [line for line in platform.log() if line["message"] == "pulumi ran"]
    return {
        line["command"].split()[0] for line in lines if line["stack"] == f"tenant-{tenant}" and "code" in line
    }


def test_created_tenant_has_its_objects_and_nothing_to_change_by_hand(
    platform: Platform, new_tenant: NewTenant, engine: EngineName
) -> None:
    name = f"created-{engine}"
    manifest = new_tenant(name, plan="basic")
    platform.await_active(manifest)
    assert len(platform.objects(name)) == 19
    assert ("up" in operations(platform, name)) is (engine is EngineName.CLI)
    platform.expect_no_changes(name)
    by_hand = platform.pulumi(f"tenant-{name}", "up", "--yes", "--skip-preview", "--message", "by hand")
    assert by_hand.returncode == 0, by_hand.stderr
    platform.apply({**manifest, "spec": {"plan": "pro"}})
    platform.await_active(manifest)
    assert [update["message"] for update in platform.history(name)][1:] == ["by hand", "spec generation 1"]


def test_updated_tenant_has_both_updates_in_its_history(
    platform: Platform, new_tenant: NewTenant, engine: EngineName
) -> None:
    name = f"updated-{engine}"
    manifest = new_tenant(name, plan="basic")
    platform.await_active(manifest)
    platform.apply({**manifest, "spec": {"plan": "pro"}})
    platform.await_active(manifest)
    newest, oldest = platform.stacks.history(name)
    assert (newest.version, newest.result, oldest.version) == (2, "succeeded", 1)
    assert newest.record is not None
    assert newest.record.spec["plan"] == "pro"
    assert newest.counts["update"] > 0


def test_drift_is_repaired_and_recorded(
    platform: Platform, new_tenant: NewTenant, engine: EngineName
) -> None:
    name = f"drifted-{engine}"
    manifest = new_tenant(name, plan="basic")
    platform.await_active(manifest)
    platform.remove("NetworkPolicy", f"tenant-{name}", POLICY)
    eventually(lambda: platform.get("NetworkPolicy", f"tenant-{name}", POLICY), "the policy is back")
    eventually(lambda: version(platform, manifest) == 2, "the repair is recorded")
    platform.await_active(manifest)


def test_deleted_tenant_is_gone_with_its_stack(
    platform: Platform, new_tenant: NewTenant, engine: EngineName
) -> None:
    name = f"deleted-{engine}"
    manifest = new_tenant(name, plan="basic")
    platform.await_active(manifest)
    platform.delete(manifest)
    platform.await_gone(manifest)
    assert platform.namespace(f"tenant-{name}") is None
    assert not stack_file(platform.folder / "state", name).exists()


def test_restart_runs_no_update_of_an_unchanged_tenant(
    platform: Platform, new_tenant: NewTenant, engine: EngineName
) -> None:
    name = f"restarted-{engine}"
    manifest = new_tenant(name, plan="basic")
    platform.await_active(manifest)
    platform.stop()
    platform.start("--engine", engine)
    eventually(
        lambda: any(
            line["message"] == "tenant unchanged" and line["tenant"] == name for line in platform.log()
        ),
        "the watcher has reconciled the tenant",
    )
    assert version(platform, manifest) == 1
    assert platform.pulumi_run_count(tenant=name) == 0


def test_watcher_without_a_usable_engine_uses_the_cli_and_says_so(running_platform: Platform) -> None:
    platform = running_platform
    platform.stop()
    platform.start("--engine", "warm", TENANCY_ENGINE_BINARY="/nowhere")
    manifests = [tenant_manifest(f"engineless-{name}", plan="basic") for name in "ab"]
    for manifest in manifests:
        platform.await_active(platform.add(manifest))
    note = "using the Pulumi CLI instead of the warm engine: the program tenancy-engine is not installed"
    assert platform.http_get("/readyz") == (200, f"ok\n{note}\n")
    assert platform.metrics("tenancy_engine_usable") == {(): 0}
    warnings = [line for line in platform.log() if line["message"] == note.partition(":")[0]]
    assert len(warnings) == 1
    platform.verify_and_abandon(manifests)
    platform.stop()


@pytest.mark.long
def test_thousands_of_updates_leave_the_watcher_flat(running_platform: Platform) -> None:
    """Run 2,000 updates, 200 of each tenant.

    During these updates, new processes replace the engine several times.
    """
    platform = running_platform
    platform.stop()
    platform.start("--engine", "warm")
    manifests = [tenant_manifest(f"steady-{number}", plan="basic") for number in range(10)]

    def update(rounds: range) -> None:
        for number in rounds:
            for manifest in manifests:
                platform.apply({**manifest, "spec": {"plan": "basic", "adminUsers": [f"user-{number}"]}})
            for manifest in manifests:
                platform.await_active(manifest)

    update(range(20))
    before = _use(platform)
    update(range(20, 200))
    after = _use(platform)
    print(before, after, sep="\n")
    assert version(platform, manifests[0]) >= 200
    # Between two replacements, the engine keeps one file, three goroutines and some memory per update.
    # During a replacement, two engines with a provider each run.
    assert after.processes <= 5
    assert after.open_files <= before.open_files + 550
    assert after.goroutines <= before.goroutines + 1000
    assert after.memory_bytes <= before.memory_bytes + (250 << 20)
    assert platform.metrics("tenancy_engine_usable") == {(): 1}
    platform.verify_and_abandon(manifests)
    platform.stop()


@dataclass(frozen=True)
class Use:
    """The resources that the watcher, the engine and the provider use together."""

    processes: int
    open_files: int
    goroutines: int
    memory_bytes: int


def _use(platform: Platform) -> Use:
    assert platform.process is not None
    watcher = psutil.Process(platform.process.pid)
    processes = [watcher, *watcher.children(recursive=True)]
    return Use(
        len(processes),
        sum(process.num_fds() for process in processes),
        _goroutines(platform.folder / "run"),
        sum(process.memory_info().rss for process in processes),
    )


def _goroutines(run_dir: Path) -> int:
    """The goroutines of the newest engine process."""
    newest = max(run_dir.glob("engine.*/engine.sock"), key=lambda path: path.stat().st_mtime)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(newest))
        connection.sendall(STATUS)
        answer = answer_from_line(connection.makefile("rb").readline())
    return int(answer.status["goroutines"])
