"""The guard process. It starts child processes, and stops them when its parent process exits.

The guard reads requests as JSON lines from stdin, and writes responses as JSON lines to stdout. The guard
uses only the standard library.

On Linux, the guard sets PR_SET_PDEATHSIG for its children: the kernel kills a child when the thread that has
forked it ends. So the guard must have only one thread.
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
LIBC = ctypes.CDLL(None)  # Loaded here, because a forked child should not load libraries before exec.


class Child:
    """A child process. To stop it, the guard sends SIGTERM, and SIGKILL if it still runs after `grace_s`."""

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
                # `preexec_fn` is safe because the guard has one thread.
                preexec_fn=set_parent_death_signal if sys.platform == "linux" else None,
            )

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(self.grace_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def set_parent_death_signal() -> None:
    """Make the kernel kill this child process when the guard exits. Runs between fork and exec."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != GUARD_PID:
        os._exit(1)  # The guard had already exited before the prctl call.


def respond(**fields: object) -> None:
    os.write(sys.stdout.fileno(), json.dumps(fields).encode() + b"\n")


def start_child(children: list[Child], line: bytes) -> None:
    """Start the process that the request in `line` describes. Respond with its process id or an error."""
    request = json.loads(line)
    try:
        child = Child(request)
    except OSError as error:
        respond(name=request["name"], error=str(error))
        return
    children.append(child)
    respond(name=child.name, pid=child.process.pid)


def report_exits(children: list[Child]) -> None:
    """Report the exit code of each child that has exited, and remove the child from `children`."""
    for child in list(children):
        code = child.process.poll()
        if code is not None:
            children.remove(child)
            respond(name=child.name, pid=child.process.pid, exit_code=code)


def serve(children: list[Child], signals: int) -> None:
    """Start the requested processes and report their exits, until stdin is closed or SIGTERM arrives.

    `signals` is the read end of a pipe. Python writes the number of each received signal to the pipe.
    """
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
                start_child(children, line)


def main() -> None:
    signals, signals_in = os.pipe()
    os.set_blocking(signals_in, False)
    signal.set_wakeup_fd(signals_in)
    for number in (signal.SIGTERM, signal.SIGCHLD):
        # Python writes a signal to the pipe only if the signal has a handler.
        signal.signal(number, lambda *_: None)
    children: list[Child] = []
    with contextlib.suppress(BrokenPipeError):  # The parent process has exited.
        serve(children, signals)
    # Stop the last started process first. A process may depend on the processes that were started before it,
    # as the API server depends on etcd.
    for child in reversed(children):
        child.stop()


if __name__ == "__main__":
    main()
