"""Starts processes with a guard process (`guard.py`). The guard stops them when this process exits."""

import json
import os
import select
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embedded.controlplane import guard
from embedded.errors import SetupFailed

GRACE_S = 10.0
TAIL_LINES = 15
GUARD_LOST = "the guard process was killed, together with the processes that it started"


@dataclass(frozen=True)
class Exit:
    """The exit of one process. If a signal killed the process, `code` is the negative signal number."""

    name: str
    pid: int
    code: int


class ProcessFailed(SetupFailed):
    """A program could not be started, or the guard process has exited unexpectedly."""


class ProcessGroup:
    """Starts and stops processes with a guard process.

    `stop()` stops all processes of the group. If this Python process exits or is killed, the guard stops
    them.
    """

    def __init__(self, *, hold: Sequence[int] = ()) -> None:
        """Start the guard process.

        The guard inherits the file descriptors in `hold`, such as a lock. It keeps them open until all
        processes of the group have exited.
        """
        # -I and -S: Python does not load site-packages, and starts in a few milliseconds.
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", guard.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=hold,
            start_new_session=True,
        )
        self._pending = b""
        self._exits: list[Exit] = []
        self.pids: dict[str, int] = {}

    @property
    def guard_pid(self) -> int:
        return self._guard.pid

    def start(
        self,
        name: str,
        argv: Sequence[str | Path],
        *,
        log: Path,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        grace_s: float = GRACE_S,
    ) -> int:
        """Start a process and return its process ID. Raises ProcessFailed if the process cannot be started.

        The output of the process is written to the file `log`. `stop` kills the process if it does not exit
        within `grace_s`.
        """
        request = {
            "name": name,
            "argv": [str(part) for part in argv],
            "log": str(log),
            "cwd": str(cwd),
            "env": None if env is None else dict(env),
            "grace_s": grace_s,
        }
        assert self._guard.stdin is not None
        try:
            self._guard.stdin.write(json.dumps(request).encode() + b"\n")
            self._guard.stdin.flush()
        except BrokenPipeError:
            raise ProcessFailed(GUARD_LOST) from None
        return self._await_pid(name)

    def _await_pid(self, name: str) -> int:
        pid: int | None = None
        while pid is None:
            for message in self._messages(timeout_s=None):
                if "error" in message:
                    raise ProcessFailed(f"{name} cannot be started: {message['error']}")
                if "exit_code" in message:
                    self._record_exit(message)
                else:
                    pid = self.pids[name] = message["pid"]
        return pid

    def exits(self, *, timeout_s: float = 0) -> list[Exit]:
        """The processes that have exited since the last call of this method.

        If no process has exited, waits up to `timeout_s` for an exit.
        """
        if not self._exits:
            for message in self._messages(timeout_s=timeout_s):
                self._record_exit(message)
        exits, self._exits = self._exits, []
        return exits

    def stop(self) -> None:
        """Stop all processes in the reverse order of their start, and wait until they have exited."""
        self._guard.communicate()
        self.pids.clear()

    def _record_exit(self, message: dict[str, Any]) -> None:
        process_exit = Exit(message["name"], message["pid"], message["exit_code"])
        if self.pids.get(process_exit.name) == process_exit.pid:
            del self.pids[process_exit.name]
        self._exits.append(process_exit)

    def _messages(self, *, timeout_s: float | None) -> list[dict[str, Any]]:
        """The next responses of the guard. Empty if there is no response within `timeout_s`.

        If `timeout_s` is None, waits without a limit.
        """
        assert self._guard.stdout is not None
        readable, _, _ = select.select([self._guard.stdout], [], [], timeout_s)
        if not readable:
            return []
        chunk = os.read(self._guard.stdout.fileno(), guard.CHUNK_BYTES)
        if not chunk:
            raise ProcessFailed(GUARD_LOST)
        *lines, self._pending = (self._pending + chunk).split(b"\n")
        return [json.loads(line) for line in lines]


def log_tail(path: Path, lines: int = TAIL_LINES) -> str:
    """The last lines of a log file, indented for an error message. Empty if the file cannot be read."""
    try:
        text = path.read_text(errors="replace")
    except OSError:
        return ""
    return "\n".join(f"    {line}" for line in text.splitlines()[-lines:])
