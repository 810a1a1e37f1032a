"""Fixtures for the tests of `embedded/`: kubectl, `./dev`, and functions that wait or check processes."""

import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from embedded.controlplane.plane import ControlPlane
from tests.embedded.dev import Dev

LIMIT_S = 60.0


@pytest.fixture
def kubectl(tools: dict[str, Path]) -> Callable[..., str]:
    """A function that runs kubectl on a control plane and returns its output.

    If kubectl fails, the test fails, and the message contains kubectl's stderr.
    """

    def run(plane: ControlPlane, *arguments: str) -> str:
        command: list[str | Path] = [tools["kubectl"], "--kubeconfig", plane.kubeconfig, *arguments]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        return result.stdout

    return run


@pytest.fixture
def eventually() -> Callable[[Callable[[], object]], None]:
    """A function that waits until a condition is true. The test fails after LIMIT_S seconds."""

    def wait(condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + LIMIT_S
        while not condition():
            assert time.monotonic() < deadline, f"the condition is not true after {LIMIT_S} s"
            time.sleep(0.05)

    return wait


@pytest.fixture
def alive() -> Callable[[Iterable[int]], list[int]]:
    """A function that returns the process IDs that are still running.

    Zombie processes do not count as running.
    """

    def is_running(pid: int) -> bool:
        try:
            return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    return lambda pids: [pid for pid in pids if is_running(pid)]


@pytest.fixture
def dev(tools: dict[str, Path], tmp_path: Path) -> Iterator[Dev]:
    """`./dev` with an empty state folder. After the test, the fixture stops the instance of `./dev run`."""
    assert tools
    with stopping(Dev(tmp_path / "dev")) as dev:
        yield dev


@pytest.fixture
def other(tools: dict[str, Path], tmp_path: Path) -> Iterator[Dev]:
    """Like `dev`, but with another state folder, for tests that need a second instance."""
    assert tools
    with stopping(Dev(tmp_path / "other")) as dev:
        yield dev


@contextmanager
def stopping(dev: Dev) -> Iterator[Dev]:
    try:
        yield dev
    finally:
        if dev.folder.record.exists():
            dev("stop")
