"""Runs the Pulumi CLI. All commands, including those of the Automation API, use `PulumiProcess.run`.

`PulumiProcess` is a subclass of the Automation API's `PulumiCommand`, with two additions:

- A time limit. If a command exceeds the limit, `PulumiProcess` ends the command and all processes that the
  command has started.
- An environment variable with the command's work folder. If a watcher is killed, its commands may continue to
  run. The next watcher process finds these commands by the variable, and kills them.
"""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import psutil
import structlog
from pulumi.automation import CommandResult, InvalidVersionError, PulumiCommand
from pulumi.automation.errors import create_command_error
from semver import VersionInfo

from stacks.errors import PulumiMissing, StackStopped, StackTimeout

log = structlog.get_logger(__name__)

# Environment variable with the command's work folder. All processes that the command starts inherit it.
WORK_FOLDER_VARIABLE: Final = "TENANCY_WORK_FOLDER"
_GRACE_S: Final = 10.0

OnOutput = Callable[[str], Any]


class PulumiProcess(PulumiCommand):
    """Runs each Pulumi command as a process in its own process group. Thread-safe."""

    def __init__(self, timeout_s: float) -> None:
        # Do not call the constructor of the base class. It runs `pulumi version`, which takes 0.3 s.
        self.command, self.version = "pulumi", VersionInfo.parse(version("pulumi"))
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
        try:
            result = self.execute([self.command, "--non-interactive"], args, cwd, additional_env)
        except FileNotFoundError as error:
            raise _pulumi_missing(error) from None
        took_s = round(time.monotonic() - started, 3)
        # The name of a work folder is the name of its stack, a dot and a random suffix.
        stack = Path(cwd).name.rpartition(".")[0]
        log.debug("pulumi ran", stack=stack, command=" ".join(args[:2]), code=result.code, took_s=took_s)
        if result.code != 0:
            raise create_command_error(result)
        return result

    def execute(
        self,
        program: list[str],
        args: list[str],
        cwd: str,
        additional_env: Mapping[str, str],
        standard_input: str = "",
    ) -> CommandResult:
        """Run a program, and return its output and its exit code. An exit code other than 0 raises no error.

        Raises StackTimeout if the program exceeds the time limit. Raises StackStopped if a call of `stop` has
        prevented or interrupted the program.
        """
        label = f"{Path(program[0]).name} {args[0]}"
        with self._guard:
            if self._is_stopping:
                raise StackStopped(f"{label} was not started, because this process is stopping")
            process = subprocess.Popen(
                [*program, *args],
                cwd=cwd,
                env={
                    **os.environ,
                    **additional_env,
                    "PULUMI_AUTOMATION_API": "true",
                    WORK_FOLDER_VARIABLE: cwd,
                },
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                start_new_session=True,
            )
            self._running.add(process.pid)
        try:
            stdout, stderr = process.communicate(standard_input, timeout=self.timeout_s)
        except subprocess.TimeoutExpired:
            _terminate(process, Path(cwd))
            raise StackTimeout(f"{label} took longer than {self.timeout_s:g} s") from None
        finally:
            with self._guard:
                self._running.discard(process.pid)
        if process.returncode != 0 and self._is_stopping:
            raise StackStopped(f"{label} was interrupted, because this process is stopping")
        return CommandResult(stdout, stderr, process.returncode)

    @staticmethod
    def installed_version() -> str:
        """The version of the CLI, such as 3.259.0. Raises PulumiMissing if the CLI is missing or too old."""
        try:
            return str(PulumiCommand().version)
        except (OSError, InvalidVersionError) as error:
            raise _pulumi_missing(error) from None

    def is_running(self, pid: int) -> bool:
        """Whether this object has started the process with this pid, and the process is still running."""
        with self._guard:
            return pid in self._running

    def is_stopping(self) -> bool:
        """Whether `stop` was called."""
        return self._is_stopping

    def stop(self) -> None:
        """Send SIGINT to all running commands. After this call, new commands raise StackStopped."""
        with self._guard:
            self._is_stopping = True
            for pid in self._running:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGINT)


def _pulumi_missing(error: Exception) -> PulumiMissing:
    return PulumiMissing(f"cannot run the pulumi command: {error}")


def kill_leftover_commands(run_dir: Path) -> int:
    """Kill the processes that an earlier watcher left running. Return the number of killed processes.

    These are the processes whose work folder is in `run_dir`.
    """
    return _kill_by_work_folder(lambda folder: folder.parent == run_dir)


def _kill_by_work_folder(is_match: Callable[[Path], bool]) -> int:
    """Kill each process whose work folder matches `is_match`. Return the number of killed processes.

    The environment variable TENANCY_WORK_FOLDER of a process contains its work folder.
    """
    killed = 0
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            folder = process.environ().get(WORK_FOLDER_VARIABLE)
            if folder and is_match(Path(folder)):
                process.kill()
                killed += 1
    return killed


def _terminate(command: "subprocess.Popen[str]", folder: Path) -> None:
    """Send SIGINT to the command, so that the CLI saves the stack's state and releases the stack's lock.

    If the command does not end within 10 s, kill the command and all processes that it has started.
    """
    command.send_signal(signal.SIGINT)
    try:
        command.communicate(timeout=_GRACE_S)
    except subprocess.TimeoutExpired:
        _kill_by_work_folder(lambda other: other == folder)
        command.communicate()
