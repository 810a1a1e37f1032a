"""Faults of the warm engine, its providers, the cluster and the backend.

After each fault, the stacks are up to date.
"""

import json
import os
import signal
import socket
from collections.abc import Iterator
from datetime import UTC, datetime

import psutil
import pytest

from stacks.errors import StackNotFound, StackTimeout
from tenancy.desired import DesiredState
from tests.stacks.conftest import desired
from tests.stacks.warm import Warm, in_background
from tests.waiting import eventually


def is_ended(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def expect_applied(warm: Warm, state: DesiredState, updates: int) -> None:
    """Check that the stack is up to date and not locked, and that `updates` updates succeeded."""
    assert len(warm.platform.objects(state.tenant)) == len(state.manifests)
    assert not warm.locks(state.tenant)
    assert [update.result for update in warm.stacks.history(state.tenant)] == ["succeeded"] * updates
    assert warm.stacks.preview(state, refresh=True).counts.keys() == {"same"}


def test_engine_killed_during_a_create_is_replaced_and_its_objects_are_adopted(warm: Warm) -> None:
    state = desired("kill-create")
    with warm.held("kill-create"):
        created = in_background(lambda: warm.stacks.up(state, "spec generation 1"))
        warm.await_namespace("kill-create")
        killed, provider = warm.pid, warm.provider().pid
        os.kill(killed, signal.SIGKILL)
    result = created.result(timeout=120)
    assert result is not None
    assert (result.version, result.counts) == (1, {"create": len(state.manifests) + 2})
    assert warm.pid != killed
    eventually(lambda: is_ended(provider), "the killed engine's provider has ended")
    expect_applied(warm, state, updates=1)


def test_engine_killed_during_an_update_is_replaced(warm: Warm) -> None:
    warm.stacks.up(desired("kill-update"), "spec generation 1")
    state = desired("kill-update", adminUsers=["alice"])
    with warm.held("kill-update"):
        updated = in_background(lambda: warm.stacks.up(state, "spec generation 2"))
        eventually(lambda: warm.locks("kill-update"), "the update is running")
        os.kill(warm.pid, signal.SIGKILL)
    result = updated.result(timeout=120)
    assert result is not None
    assert result.version == 2
    expect_applied(warm, state, updates=2)


def test_engine_killed_during_a_destroy_is_replaced(warm: Warm) -> None:
    warm.stacks.up(desired("kill-destroy"), "spec generation 1")
    with warm.held("kill-destroy"):
        destroyed = in_background(lambda: warm.stacks.destroy("kill-destroy", "bye"))
        eventually(lambda: warm.locks("kill-destroy"), "the destroy is running")
        os.kill(warm.pid, signal.SIGKILL)
    result = destroyed.result(timeout=120)
    assert result is not None
    assert result.counts == {"delete": len(desired("kill-destroy").manifests) + 2}
    eventually(lambda: warm.platform.namespace("tenant-kill-destroy") is None, "the namespace is deleted")
    assert not warm.locks("kill-destroy")
    with pytest.raises(StackNotFound):
        warm.stacks.history("kill-destroy")


def test_provider_killed_during_an_update_is_replaced(warm: Warm) -> None:
    state = desired("kill-provider")
    with warm.held("kill-provider"):
        created = in_background(lambda: warm.stacks.up(state, "spec generation 1"))
        warm.await_namespace("kill-provider")
        engine, provider = warm.pid, warm.provider()
        provider.kill()
    assert created.result(timeout=120) is not None
    assert (warm.pid, warm.provider().pid != provider.pid) == (engine, True)
    assert not warm.locks("kill-provider")
    assert warm.stacks.history("kill-provider")[0].result == "succeeded"
    assert warm.stacks.preview(state, refresh=True).counts.keys() == {"same"}


@pytest.fixture
def short_limits(warm: Warm, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let operations end soon after their time limit."""
    monkeypatch.setattr("stacks.engine.protocol.GRACE_S", 1.0)
    yield
    warm.command.timeout_s = 120


@pytest.mark.usefixtures("short_limits")
def test_hanging_cluster_call_delays_one_stack_only(warm: Warm) -> None:
    state = desired("hangs")
    warm.stacks.up(desired("hangs-not"), "starts the provider")
    with warm.held("hangs"):
        provider = warm.provider()
        warm.command.timeout_s = 5
        hanging = in_background(lambda: warm.stacks.up(state, "spec generation 1"))
        warm.await_namespace("hangs")
        assert warm.stacks.up(desired("hangs-not", plan="pro"), "spec generation 2").version == 2
        assert warm.is_running("hangs") or isinstance(hanging.exception(), StackTimeout)
        with pytest.raises(StackTimeout, match="up took longer than 5 s"):
            hanging.result(timeout=60)
        # The hanging request may still reach the cluster, so the engine does not use the provider again.
        eventually(lambda: is_ended(provider.pid), "the provider is killed")
    warm.command.timeout_s = 120
    warm.stacks.up(state, "spec generation 1")
    assert not warm.locks("hangs")
    assert warm.stacks.preview(state, refresh=True).counts.keys() == {"same"}


@pytest.mark.usefixtures("short_limits")
def test_hanging_provider_is_replaced(warm: Warm) -> None:
    warm.stacks.up(desired("stopped-provider"), "spec generation 1")
    engine, provider = warm.pid, warm.provider()
    provider.suspend()
    warm.command.timeout_s = 1
    with pytest.raises(StackTimeout):
        warm.stacks.up(desired("stopped-provider", plan="pro"), "spec generation 2")
    warm.command.timeout_s = 120
    eventually(lambda: is_ended(provider.pid), "the provider is killed")
    assert warm.stacks.up(desired("stopped-provider", plan="pro"), "spec generation 2").has_changes
    assert warm.pid == engine


@pytest.mark.usefixtures("short_limits")
def test_hanging_engine_is_replaced(warm: Warm) -> None:
    warm.stacks.up(desired("stopped-engine"), "spec generation 1")
    engine = warm.pid
    os.kill(engine, signal.SIGSTOP)
    warm.command.timeout_s = 1
    with pytest.raises(StackTimeout):
        warm.stacks.up(desired("stopped-engine", plan="pro"), "spec generation 2")
    warm.command.timeout_s = 120
    assert is_ended(engine)
    assert warm.stacks.up(desired("stopped-engine", plan="pro"), "spec generation 2").has_changes


def test_failing_write_of_the_state_delays_one_stack_only(warm: Warm) -> None:
    state, file = desired("no-write"), warm.state_file("no-write")
    saved = file.with_suffix(".saved")
    with warm.held("no-write"):
        created = in_background(lambda: warm.stacks.up(state, "spec generation 1"))
        warm.await_namespace("no-write")
        # Replace the file by a folder with the same name, so that every write fails, even for root.
        file.rename(saved)
        file.mkdir()
        (file / "entry").touch()
    assert warm.stacks.up(desired("can-write"), "spec generation 1").version == 1
    assert not created.done()
    (file / "entry").unlink()
    file.rmdir()
    saved.rename(file)
    assert created.result(timeout=120) is not None
    expect_applied(warm, state, updates=1)


def test_lock_that_cannot_be_deleted_is_deleted_by_the_next_operation(warm: Warm) -> None:
    state = desired("no-unlock")
    with warm.held("no-unlock"):
        created = in_background(lambda: warm.stacks.up(state, "spec generation 1"))
        warm.await_namespace("no-unlock")
        (lock,) = warm.locks("no-unlock")
        content = lock.read_bytes()
        lock.unlink()
        # The engine cannot delete a folder that is not empty.
        lock.mkdir()
        (lock / "entry").touch()
    assert created.result(timeout=120) is not None
    (lock / "entry").unlink()
    lock.rmdir()
    lock.write_bytes(content)
    assert warm.stacks.up(desired("no-unlock", plan="pro"), "spec generation 2").version == 2
    assert not warm.locks("no-unlock")


def test_lock_removed_by_hand_during_an_update_does_not_delay_it(warm: Warm) -> None:
    with warm.held("unlocked"):
        created = in_background(lambda: warm.stacks.up(desired("unlocked"), "spec generation 1"))
        warm.await_namespace("unlocked")
        (lock,) = warm.locks("unlocked")
        lock.unlink()
    assert created.result(timeout=120) is not None


def test_lock_of_the_live_engine_without_an_operation_is_cleared(warm: Warm) -> None:
    warm.stacks.up(desired("own-lock"), "spec generation 1")
    folder = warm.backend / ".pulumi" / "locks" / "organization" / "tenancy" / "tenant-own-lock"
    folder.mkdir(parents=True, exist_ok=True)
    holder = {
        "pid": warm.pid,
        "username": "me",
        "hostname": socket.gethostname(),
        "timestamp": datetime.now(UTC).isoformat(),
    }
    (folder / "left.json").write_text(json.dumps(holder))
    assert warm.stacks.up(desired("own-lock", plan="pro"), "spec generation 2").version == 2
    assert not warm.locks("own-lock")
