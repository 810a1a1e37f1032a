"""Helpers for tests of the warm engine: they start an engine, and read its processes and locks."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from stacks.command import PulumiProcess
from stacks.engine.warm import WarmEngine
from stacks.operation import EngineName
from stacks.result import StackResult
from stacks.stack import Stacks
from tests.checkpoint import stack_file
from tests.holding import held_updates
from tests.platform import Platform
from tests.waiting import eventually


@dataclass
class Warm:
    """Stacks with a warm engine, which has the rights of the watcher. No watcher is running."""

    stacks: Stacks
    command: PulumiProcess
    platform: Platform
    backend: Path

    @property
    def engine(self) -> WarmEngine:
        assert self.stacks.engine is not None
        return self.stacks.engine

    @property
    def pid(self) -> int:
        pid = self.engine.pid
        assert pid is not None
        return pid

    def provider(self) -> psutil.Process:
        """The engine's only provider process."""
        (provider,) = psutil.Process(self.pid).children()
        return provider

    def locks(self, tenant: str) -> list[Path]:
        folder = self.backend / ".pulumi" / "locks" / "organization" / "tenancy" / f"tenant-{tenant}"
        return list(folder.glob("*.json"))

    def state_file(self, tenant: str) -> Path:
        return stack_file(self.backend, tenant)

    def is_running(self, tenant: str) -> bool:
        """Whether the engine is running an operation that changes the tenant's stack."""
        return f"tenant-{tenant}" in (self.engine.status().get("running") or ())

    @contextmanager
    def held(self, tenant: str) -> Iterator[None]:
        """Hold the engine's requests for the tenant's only namespace, as `held_updates` describes."""
        with held_updates(self.platform, f"tenant-{tenant}"):
            yield

    def await_namespace(self, tenant: str) -> None:
        eventually(lambda: self.platform.namespace(f"tenant-{tenant}"), f"{tenant} is partly created")


@contextmanager
def open_warm(platform: Platform, folder: Path) -> Iterator[Warm]:
    """Open stacks in a new backend. The caller must have set the environment variables."""
    backend = folder / "state"
    backend.mkdir()
    command = PulumiProcess(timeout_s=120)
    stacks = Stacks(f"file://{backend}", folder / "run", command, EngineName.WARM)
    stacks.prepare()
    try:
        yield Warm(stacks, command, platform, backend)
    finally:
        stacks.close()


def in_background(operation: Callable[[], StackResult | None]) -> "Future[StackResult | None]":
    """Run the operation in another thread."""
    future: Future[StackResult | None] = Future()

    def run() -> None:
        try:
            future.set_result(operation())
        except BaseException as error:  # The caller of `result` receives it.
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future
