"""The guard process: starts child processes and ends them when whoever asked for them is gone.

Run by `processes.py` as a script, in a session of its own. Requests come as JSON lines on stdin,
answers go as JSON lines to stdout. It has one thread, because PDEATHSIG is bound to the thread that forks,
and it needs the standard library only. It does not know what it runs.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
from typing import Any

PR_SET_PDEATHSIG = 1
CHUNK_BYTES = 65536
GUARD_PID = os.getpid()
LIBC = ctypes.CDLL(None)  # loaded before any fork


class Child:
    """A started process, with the time it gets between SIGTERM and SIGKILL."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.name: str = request["name"]
        self.grace_s: float = request["grace_s"]
        with open(request["log"], "ab") as log:
            self.process = subprocess.Popen(
                request["argv"],
                env=request["env"],
                cwd=request["cwd"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Safe here: the guard has one thread.
                preexec_fn=die_with_guard if sys.platform == "linux" else None,
            )

    def end(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(self.grace_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def die_with_guard() -> None:
    """Runs in the forked child: the kernel kills it when the guard itself is killed."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != GUARD_PID:
        os._exit(1)  # the guard died before prctl was in force


def answer(**fields: object) -> None:
    os.write(sys.stdout.fileno(), json.dumps(fields).encode() + b"\n")


def start(children: list[Child], line: bytes) -> None:
    request = json.loads(line)
    try:
        child = Child(request)
    except OSError as error:
        answer(name=request["name"], error=str(error))
        return
    children.append(child)
    answer(name=child.name, pid=child.process.pid)


def report_exits(children: list[Child]) -> None:
    for child in list(children):
        code = child.process.poll()
        if code is not None:
            children.remove(child)
            answer(name=child.name, pid=child.process.pid, exit_code=code)


def serve(children: list[Child], signals: int) -> None:
    """Returns when the requests end, or on SIGTERM."""
    stdin, pending = sys.stdin.fileno(), b""
    while True:
        readable, _, _ = select.select([stdin, signals], [], [])
        if signals in readable:
            if signal.SIGTERM in os.read(signals, CHUNK_BYTES):
                return
            report_exits(children)
        if stdin in readable:
            chunk = os.read(stdin, CHUNK_BYTES)
            if not chunk:
                return
            *lines, pending = (pending + chunk).split(b"\n")
            for line in lines:
                start(children, line)


def main() -> None:
    signals, signals_in = os.pipe()
    os.set_blocking(signals_in, False)
    signal.set_wakeup_fd(signals_in)
    for number in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)  # a handler must exist for the wake-up byte to be written
    children: list[Child] = []
    with contextlib.suppress(BrokenPipeError):  # raised when nobody reads the answers: the parent is gone
        serve(children, signals)
    # The last started leans on the first, as an API server does on etcd.
    for child in reversed(children):
        child.end()


if __name__ == "__main__":
    main()
