"""Runs the `tenancy` command without the time that a new Python process needs for its imports.

`run_tenancy` sends each call to a server process. This process has already imported the libraries, and forks
a new process for each call. So each call has its own environment variables, working directory, standard
streams and threads. The forked process imports `cli` again, because `cli` reads the terminal and the
environment at import time.

`python -m tests.commandline` runs the server. It reads one JSON request per line, and writes one exit code
per line.
"""

import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.platform import ROOT

# Packages that read the environment at import time. Each forked process imports them again.
_REIMPORTED_PACKAGES = ("cli", "typer")
_server_lock = threading.Lock()


def run_tenancy(
    *arguments: str, cwd: Path = ROOT, environment: Mapping[str, str], input: str | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run `tenancy` in the folder `cwd` with exactly these environment variables.

    Returns the exit code and the output.
    """
    with tempfile.TemporaryDirectory(prefix="tenancy-call-") as folder:
        stdin, stdout, stderr = (Path(folder) / name for name in ("stdin", "stdout", "stderr"))
        stdin.write_text(input or "")
        request = {
            "arguments": arguments,
            "cwd": str(cwd),
            "environment": dict(environment),
            "streams": [str(stdin), str(stdout), str(stderr)],
        }
        code = _send(json.dumps(request))
        return subprocess.CompletedProcess(
            ["tenancy", *arguments], code, stdout.read_text(), stderr.read_text()
        )


def _send(request: str) -> int:
    """Send a request to the server, and return the exit code of the call."""
    with _server_lock:
        server = _server()
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            server.stdin.write(f"{request}\n")
            server.stdin.flush()
            return int(server.stdout.readline())
        except BaseException:
            # The test was interrupted, for example by its time limit. Kill the server and the forked process.
            # The next call starts a new server.
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()
            _server.cache_clear()
            raise


@cache
def _server() -> "subprocess.Popen[str]":
    """The server process. It exits when its stdin is closed, so it does not outlive this process."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.commandline"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _serve() -> None:
    # Duplicate the file descriptors, because the forked processes redirect the standard streams.
    requests, exit_codes = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    initial_variables = set(os.environ)
    _import_commands()
    set_by_imports = {name: value for name, value in os.environ.items() if name not in initial_variables}
    for name in [name for name in sys.modules if name.partition(".")[0] in _REIMPORTED_PACKAGES]:
        del sys.modules[name]
    # Exclude the imported modules from garbage collection. Otherwise, each forked process would copy their
    # memory.
    gc.freeze()
    for line in requests:
        pid = os.fork()
        if pid == 0:
            _run_command_line(json.loads(line), set_by_imports)
            return
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), file=exit_codes, flush=True)


def _import_commands() -> None:
    """Import all modules that commands import only when a user runs them."""
    import stacks.stack  # noqa: F401
    from cli.command_loader import COMMANDS

    for source in COMMANDS.values():
        import_module(f"cli.commands.{source.function.partition('.')[0]}")


def _run_command_line(request: dict[str, Any], set_by_imports: Mapping[str, str]) -> None:
    """Run the command in this forked process."""
    stdin, stdout, stderr = request["streams"]
    os.dup2(os.open(stdin, os.O_RDONLY), 0)
    os.dup2(os.open(stdout, os.O_WRONLY | os.O_CREAT), 1)
    os.dup2(os.open(stderr, os.O_WRONLY | os.O_CREAT), 2)
    os.environ.clear()
    os.environ.update({**set_by_imports, **request["environment"]})
    time.tzset()
    os.chdir(request["cwd"])
    sys.argv = ["tenancy", *request["arguments"]]
    from cli.main import main

    main()


if __name__ == "__main__":
    _serve()
