"""A group of processes that never outlives its owner: the client of the guard in `guard.py`.

Used by the control plane and by the session for the watcher. Says which process has ended and how; whether
that is a failure is for the caller to judge.
"""

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
GUARD_LOST = "the guard process was killed, and the processes it held with it"


@dataclass(frozen=True)
class Exit:
    """The end of one process; a negative code is the number of the signal that ended it."""

    name: str
    pid: int
    code: int


class ProcessFailed(SetupFailed):
    """A program that could not be executed at all, or a guard that was killed."""


class ProcessGroup:
    """Starts processes through a guard. All of them end on `stop()`, or when this process dies in any way."""

    def __init__(self, *, hold: Sequence[int] = ()) -> None:
        """`hold`: file descriptors (locks) which the guard keeps open until the last process has ended."""
        # Isolated and without site-packages, the guard starts in a few milliseconds.
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
        """The process id. Raises ProcessFailed when the program cannot be executed."""
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
        return self._started(name)

    def _started(self, name: str) -> int:
        pid: int | None = None
        while pid is None:
            for message in self._messages(timeout_s=None):
                if "error" in message:
                    raise ProcessFailed(f"{name} cannot be started: {message['error']}")
                if "exit_code" in message:
                    self._note_exit(message)
                else:
                    pid = self.pids[name] = message["pid"]
        return pid

    def exits(self, *, timeout_s: float = 0) -> list[Exit]:
        """The processes that have ended since the last call; waits for one at most `timeout_s`."""
        if not self._exits:
            for message in self._messages(timeout_s=timeout_s):
                self._note_exit(message)
        ended, self._exits = self._exits, []
        return ended

    def stop(self) -> None:
        """Ends every process, the last started first, and returns when they are gone."""
        self._guard.communicate()
        self.pids.clear()

    def _note_exit(self, message: dict[str, Any]) -> None:
        ended = Exit(message["name"], message["pid"], message["exit_code"])
        if self.pids.get(ended.name) == ended.pid:
            del self.pids[ended.name]
        self._exits.append(ended)

    def _messages(self, *, timeout_s: float | None) -> list[dict[str, Any]]:
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
    """The last lines of a log, indented, for an error message."""
    try:
        text = path.read_text(errors="replace")
    except OSError:
        return ""
    return "\n".join(f"    {line}" for line in text.splitlines()[-lines:])
