"""Keeps a process of the warm engine running. Replaces the process if it ends or uses too much memory.

If the engine cannot be used, callers use the Pulumi CLI instead.
"""

import threading
import time
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any, Final

import structlog

from stacks.engine.binary import check_version, engine_binary
from stacks.engine.process import EngineProcess
from stacks.engine.protocol import ErrorKind, raise_for_error, request_line
from stacks.errors import EngineCrashed, EngineGone, EngineUnavailable, StackTimeout
from stacks.operation import Operation
from stacks.result import EventLog
from tenancy.base.backoff import ENGINE_START

log = structlog.get_logger(__name__)

# Settings of Go's garbage collection for a long-running process. The settings in `operation.ENVIRONMENT` are
# for CLI processes, which run for about a second.
_ENVIRONMENT: Final = {"GOGC": "100", "GOMEMLIMIT": "160MiB"}

# Pulumi's engine keeps the resources of each operation in memory, because a goroutine of its step executor
# never ends. These are about 0.5 MB for a tenant with 19 objects. So a new process replaces the engine
# process after `_MAX_OPERATIONS` operations, or if the engine and its providers use more memory than
# `_MAX_MEMORY_BYTES`.
_MAX_OPERATIONS: Final = 100
_MAX_MEMORY_BYTES: Final = 400 << 20
_MEMORY_CHECK_OPERATIONS: Final = 20
# A process that crashes ends within this time.
_END_S: Final = 1.0


class WarmEngine:
    """Runs operations on the stacks of one backend with the warm engine. Thread-safe."""

    def __init__(self, run_dir: Path, environment: Mapping[str, str], salt: str) -> None:
        self._run_dir = run_dir
        self._environment = {**environment, **_ENVIRONMENT}
        self._salt = salt
        self.max_operations = _MAX_OPERATIONS
        self.max_memory_bytes = _MAX_MEMORY_BYTES
        self._guard = threading.Lock()
        self._process: EngineProcess | None = None
        # Replaced processes. They may still be running operations.
        self._replaced: list[EngineProcess] = []
        self._numbers = count(1)
        self._is_replacing = False
        self._failures = 0
        self._retry_at_s = 0.0
        self.problem: str | None = None
        """Why the engine cannot be used. None if it can be used, or if no operation has needed it yet."""

    def operate(self, operation: Operation, timeout_s: float) -> EventLog:
        """Run the operation, and return its events. After the timeout, cancel the operation.

        Raises EngineUnavailable if the engine cannot be used. Raises EngineCrashed if the engine or its
        provider process ends during the operation. Raises StackTimeout if the operation was canceled, and
        another StackError if it failed.
        """
        started = time.monotonic()
        line = request_line(operation)
        while True:
            process = self._current()
            try:
                answer = process.run(line, timeout_s)
            except EngineGone:
                self._discard(process)
                continue
            except EngineCrashed:
                # Wait until the process has ended. Until then, it holds its locks, and it may accept another
                # connection without answering.
                self._discard(process, wait_s=_END_S)
                raise
            if answer is None:
                raise StackTimeout(f"{operation.name} took longer than {timeout_s:g} s")
            if answer.error_kind is ErrorKind.NOT_ACCEPTED:
                self._discard(process)
                continue
            took_s = round(time.monotonic() - started, 3)
            kind = answer.error_kind
            log.debug("pulumi ran", stack=operation.stack, command=operation.name, error=kind, took_s=took_s)
            self._replace_if_grown(process)
            raise_for_error(answer)
            return EventLog(
                dict(answer.counts),
                has_pending_operations=answer.has_pending_operations,
                version=answer.version,
            )

    def evict_providers(self) -> None:
        """Make the next operation start a new provider process.

        A provider process supports only the kinds that the cluster served when the process started.
        """
        with self._guard:
            process = self._process
        if process and process.is_running:
            process.evict_providers()

    def cancel_all(self) -> None:
        """Cancel all running operations."""
        for process in self._running():
            process.cancel_all()

    def close(self, timeout_s: float = 10.0) -> None:
        """Cancel the running operations, and end all engine processes. Kill a process after `timeout_s`."""
        for process in self._running():
            process.close(timeout_s)

    @property
    def pid(self) -> int | None:
        with self._guard:
            return self._process.pid if self._process else None

    def is_idle(self, pid: int, stack: str) -> bool:
        """Whether the process with this pid is the engine, and the engine runs no operation on the stack.

        False if the engine does not answer.
        """
        with self._guard:
            process = self._process
        if process is None or process.pid != pid:
            return False
        status = process.status()
        return bool(status) and stack not in (status["running"] or ())

    def status(self) -> Mapping[str, Any]:
        """The state of the engine process, such as the stacks of the running operations.

        Empty if no process is running.
        """
        with self._guard:
            process = self._process
        return process.status() if process else {}

    def _running(self) -> list[EngineProcess]:
        with self._guard:
            self._replaced = [process for process in self._replaced if process.is_running]
            return [*self._replaced, *([self._process] if self._process else ())]

    def _current(self) -> EngineProcess:
        """The process that accepts new operations. Starts a process if no such process is running."""
        with self._guard:
            if self._process and not self._process.is_running:
                log.warning("engine ended", pid=self._process.pid, output=self._process.log_tail())
                self._process.kill()
                self._process = None
            if self._process is None:
                self._process = self._start()
            return self._process

    def _discard(self, process: EngineProcess, wait_s: float = 0.0) -> None:
        """Use a new process for the next operation, because this process accepts no more operations.

        Make this process end. Wait at most `wait_s` until it has ended.
        """
        with self._guard:
            if self._process is process:
                self._process = None
                self._replaced.append(process)
        process.finish(wait_s)

    def _start(self) -> EngineProcess:
        """Start an engine process. Raises EngineUnavailable if the start fails.

        After a failure, calls of this method fail without an attempt, until a delay has passed. The delay
        increases with each failure.
        """
        if time.monotonic() < self._retry_at_s:
            raise EngineUnavailable(self.problem or "")
        try:
            process = self._start_compatible()
        except EngineUnavailable as error:
            self._retry_at_s = time.monotonic() + ENGINE_START.wait_s(self._failures)
            self._failures += 1
            if self.problem != str(error):
                log.warning("using the Pulumi CLI instead of the warm engine", problem=str(error))
            self.problem = str(error)
            raise
        log.info("engine started", pid=process.pid, version=process.version)
        self._failures, self.problem = 0, None
        return process

    def _start_compatible(self) -> EngineProcess:
        folder = self._run_dir / f"engine.{next(self._numbers)}"
        process = EngineProcess(engine_binary(), folder, self._environment, self._salt)
        try:
            check_version(process.version)
        except EngineUnavailable:
            process.kill()
            raise
        return process

    def _replace_if_grown(self, process: EngineProcess) -> None:
        """If the process has run many operations or uses much memory, replace it in the background."""
        is_old = process.operations >= self.max_operations
        if not is_old and process.operations % _MEMORY_CHECK_OPERATIONS == 0:
            is_old = process.memory_bytes() > self.max_memory_bytes
        with self._guard:
            is_waiting = self._is_replacing or time.monotonic() < self._retry_at_s
            if not is_old or is_waiting or self._process is not process:
                return
            self._is_replacing = True
        threading.Thread(target=self._replace, args=[process], name="engine-start", daemon=True).start()

    def _replace(self, old: EngineProcess) -> None:
        """Start a new process for new operations. The process `old` ends when its operations have ended."""
        new: EngineProcess | None = None
        try:
            new = self._start_compatible()
        except EngineUnavailable as error:
            log.warning("engine not replaced", problem=str(error))
        with self._guard:
            self._is_replacing = False
            if new is None:
                # The old process is still usable.
                self._retry_at_s = time.monotonic() + ENGINE_START.wait_s(self._failures)
                return
            is_needed = self._process is old
            if is_needed:
                self._process = new
                self._replaced.append(old)
                log.info("engine replaced", pid=new.pid, operations=old.operations)
        (old if is_needed else new).finish()
