"""The one object through which every Pulumi command goes.

The Automation API calls `run`; so do we. It adds what the API's own command lacks: a time
limit, an end for everything a command has started, and a mark by which a later process
can find what a killed one left running.
"""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import psutil
import structlog
from pulumi.automation import CommandResult, InvalidVersionError, PulumiCommand
from pulumi.automation.errors import create_command_error

from stacks.errors import PulumiMissing, StackStopped, StackTimeout

log = structlog.get_logger(__name__)

# In the environment of every command, and so of all it starts: the folder it works in.
MARK: Final = "TENANCY_WORK_FOLDER"
_GRACE_S: Final = 10.0

OnOutput = Callable[[str], Any]


class PulumiProcess(PulumiCommand):
    """Runs the Pulumi CLI as a session of its own, one process per command."""

    def __init__(self, timeout_s: float) -> None:
        try:
            super().__init__()
        except (OSError, InvalidVersionError) as error:
            raise PulumiMissing(f"the pulumi command cannot be used: {error}") from None
        self.timeout_s = timeout_s
        self._running: set[int] = set()
        self._guard = threading.Lock()
        self._is_stopping = False

    def run(
        self,
        args: list[str],
        cwd: str,
        additional_env: Mapping[str, str],
        on_output: OnOutput | None = None,  # noqa: ARG002 - part of the API's signature
        on_error: OnOutput | None = None,  # noqa: ARG002
    ) -> CommandResult:
        started = time.monotonic()
        with self._guard:
            if self._is_stopping:
                raise StackStopped("not started: this process is stopping")
            process = subprocess.Popen(
                [self.command, "--non-interactive", *args],
                cwd=cwd,
                env={**os.environ, **additional_env, "PULUMI_AUTOMATION_API": "true", MARK: cwd},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                start_new_session=True,
            )
            self._running.add(process.pid)
        try:
            stdout, stderr = process.communicate(timeout=self.timeout_s)
        except subprocess.TimeoutExpired:
            _end(process, Path(cwd))
            raise StackTimeout(f"pulumi {args[0]} took longer than {self.timeout_s:g} s") from None
        finally:
            with self._guard:
                self._running.discard(process.pid)
        result = CommandResult(stdout, stderr, process.returncode)
        took_s = round(time.monotonic() - started, 3)
        # Each work folder is named after the stack it is for.
        stack = Path(cwd).name.rpartition(".")[0]
        log.debug("pulumi ran", stack=stack, command=" ".join(args[:2]), code=result.code, took_s=took_s)
        if result.code == 0:
            return result
        if self._is_stopping:
            raise StackStopped(f"pulumi {args[0]} was ended: this process is stopping")
        raise create_command_error(result)

    def stop(self) -> None:
        """Asks every running command to wind down, and lets no new one start."""
        with self._guard:
            self._is_stopping = True
            for pid in self._running:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGINT)


def end_leftovers(run_dir: Path) -> int:
    """Ends what a killed process left running in folders under `run_dir`; says how many there were."""
    return _kill_marked(lambda folder: folder.parent == run_dir)


def _kill_marked(is_meant: Callable[[Path], bool]) -> int:
    """Kills every process whose mark names a folder that is meant; says how many there were."""
    killed = 0
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            mark = process.environ().get(MARK)
            if mark and is_meant(Path(mark)):
                process.kill()
                killed += 1
    return killed


def _end(command: "subprocess.Popen[str]", folder: Path) -> None:
    """First politely, so that the CLI saves its state and gives the lock back; then for certain."""
    command.send_signal(signal.SIGINT)
    try:
        command.communicate(timeout=_GRACE_S)
    except subprocess.TimeoutExpired:
        _kill_marked(lambda other: other == folder)
        command.communicate()
