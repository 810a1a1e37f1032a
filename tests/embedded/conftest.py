"""What the tests of this folder share: kubectl on a control plane, waiting, seeing who is still alive."""

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
    """kubectl(plane, *arguments) is its output; a failure fails the test with kubectl's words."""

    def run(plane: ControlPlane, *arguments: str) -> str:
        command: list[str | Path] = [tools["kubectl"], "--kubeconfig", plane.kubeconfig, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def eventually() -> Callable[[Callable[[], object]], None]:
    """Waits until a condition holds; the test fails when it never does."""

    def wait(holds: Callable[[], object]) -> None:
        deadline = time.monotonic() + LIMIT_S
        while not holds():
            assert time.monotonic() < deadline, "the condition does not come true"
            time.sleep(0.05)

    return wait


@pytest.fixture
def alive() -> Callable[[Iterable[int]], list[int]]:
    """Those of the process ids that still run; zombies don't."""

    def runs(pid: int) -> bool:
        try:
            return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    return lambda pids: [pid for pid in pids if runs(pid)]


@pytest.fixture
def dev(tools: dict[str, Path], tmp_path: Path) -> Iterator[Dev]:
    """./dev on a fresh state folder; what it started is stopped after the test."""
    assert tools
    with stopped(Dev(tmp_path / "dev")) as dev:
        yield dev


@pytest.fixture
def other(tools: dict[str, Path], tmp_path: Path) -> Iterator[Dev]:
    """The same on another folder, for a session beside the first."""
    assert tools
    with stopped(Dev(tmp_path / "other")) as dev:
        yield dev


@contextmanager
def stopped(dev: Dev) -> Iterator[Dev]:
    try:
        yield dev
    finally:
        if dev.folder.record.exists():
            dev("stop")
