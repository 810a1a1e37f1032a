"""The warm engine has no unknown leaks. When a new process replaces it, no operation fails."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from dataclasses import replace as changed

import psutil
import pytest

from tenancy.desired import DesiredState
from tests.stacks.conftest import desired
from tests.stacks.warm import Warm
from tests.waiting import eventually

UPDATES = 100
_MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Use:
    """The resources that the engine and its provider use."""

    open_files: int
    processes: int
    goroutines: int
    memory_bytes: int


def use(warm: Warm) -> Use:
    engine = psutil.Process(warm.pid)
    processes = [engine, *engine.children(recursive=True)]
    return Use(
        open_files=sum(process.num_fds() for process in processes),
        processes=len(processes),
        goroutines=warm.engine.status()["goroutines"],
        memory_bytes=sum(process.memory_info().rss for process in processes),
    )


def small(name: str, plan: str) -> DesiredState:
    """A desired state that contains only the namespace."""
    state = desired(name, plan=plan)
    return changed(state, manifests=state.manifests[:1])


def update(warm: Warm, name: str, count: int) -> None:
    """Run `count` updates. Every second update changes an object."""
    for number in range(count):
        warm.stacks.up(small(name, ("basic", "pro")[number // 2 % 2]), f"update {number}")


def test_many_updates_use_no_more_than_the_known_leaks(warm: Warm, monkeypatch: pytest.MonkeyPatch) -> None:
    """In each update, Pulumi leaks one open server and three goroutines."""
    # The engine also counts the updates of other tests.
    monkeypatch.setattr(warm.engine, "max_operations", 10 * UPDATES)
    monkeypatch.setattr(warm.engine, "max_memory_bytes", 1 << 40)
    update(warm, "flat", 20)
    pid, before = warm.pid, use(warm)
    update(warm, "flat", UPDATES)
    assert warm.pid == pid, "one process has run all updates"
    after = use(warm)
    assert after.processes == before.processes == 2
    assert after.open_files <= before.open_files + UPDATES + 10
    assert after.goroutines <= before.goroutines + 3 * UPDATES + 20
    # Go starts a garbage collection only when the heap has tripled.
    assert after.memory_bytes <= before.memory_bytes + 150 * _MEBIBYTE

    # A new process has no leaked resources.
    monkeypatch.setattr(warm.engine, "max_operations", 1)
    update(warm, "flat", 1)
    monkeypatch.undo()
    eventually(lambda: warm.pid != pid, "a new process has replaced the engine")
    update(warm, "flat", 20)
    fresh = use(warm)
    assert fresh.processes == before.processes
    assert fresh.open_files <= before.open_files + 10
    assert fresh.goroutines <= before.goroutines + 20


@pytest.mark.parametrize("limit", ["max_operations", "max_memory_bytes"])
def test_replaced_engine_finishes_its_operations(
    warm: Warm, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr("stacks.engine.warm._MEMORY_CHECK_OPERATIONS", 1)
    monkeypatch.setattr(warm.engine, limit, 1)
    warm.stacks.up(small("replaced-0", "basic"), "spec generation 1")
    first = warm.pid

    def run(number: int) -> int:
        """Run updates until a new process runs them. Returns the number of updates."""
        updates = 0
        while warm.pid == first:
            warm.stacks.up(small(f"replaced-{limit[4:7]}-{number}", "basic"), "spec generation 1")
            updates += 1
        return updates

    with ThreadPoolExecutor(3) as threads:
        updates = list(threads.map(run, range(3)))
    eventually(lambda: not psutil.pid_exists(first), "the old process has ended")
    for number, count in enumerate(updates):
        history = warm.stacks.history(f"replaced-{limit[4:7]}-{number}")
        assert [each.result for each in history] == ["succeeded"] * count


def test_engine_ended_by_sigterm_finishes_its_operations_and_is_replaced(warm: Warm) -> None:
    warm.stacks.up(small("sigterm", "basic"), "spec generation 1")
    ended = warm.pid
    os.kill(ended, signal.SIGTERM)
    assert warm.stacks.up(small("sigterm", "pro"), "spec generation 2").has_changes
    eventually(lambda: not psutil.pid_exists(ended), "the process has ended")
