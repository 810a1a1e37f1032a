"""The `tenancy` command line without the second that a new Python needs to import it.

`run_tenancy` has a process forked for each call, from one that has imported the libraries already. So a call
has an environment, a folder, standard streams, threads and an end of its own, as every process does. The
command line itself is imported by each, because it looks at its terminal and its environment then.

`python -m tests.commandline` is the process that is forked. It reads a request a line, and answers with the
exit code of each.
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
from pathlib import Path
from typing import Any

from kubernetes.config import kube_config

from tests.platform import ROOT

# What reads the environment when it is imported.
_IMPORTED_ANEW = ("cli", "typer")
_guard = threading.Lock()


def run_tenancy(
    *arguments: str, cwd: Path = ROOT, environment: Mapping[str, str], input: str | None = None
) -> "subprocess.CompletedProcess[str]":
    """What `tenancy` with these arguments does, run in `cwd` with exactly this environment."""
    with tempfile.TemporaryDirectory(prefix="tenancy-call-") as folder:
        stdin, stdout, stderr = (Path(folder) / name for name in ("stdin", "stdout", "stderr"))
        stdin.write_text(input or "")
        request = {
            "arguments": arguments,
            "cwd": str(cwd),
            "environment": dict(environment),
            "streams": [str(stdin), str(stdout), str(stderr)],
        }
        code = _code(json.dumps(request))
        return subprocess.CompletedProcess(
            ["tenancy", *arguments], code, stdout.read_text(), stderr.read_text()
        )


def _code(request: str) -> int:
    with _guard:
        server = _server()
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            server.stdin.write(f"{request}\n")
            server.stdin.flush()
            return int(server.stdout.readline())
        except BaseException:
            # A test that is over: nobody waits for what it has called, and the next one has a new server.
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()
            _server.cache_clear()
            raise


@cache
def _server() -> "subprocess.Popen[str]":
    """It ends with the pipe to it, so with this process."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.commandline"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _serve() -> None:
    # Kept aside: what is forked has standard streams of its own, and the objects for them are still unused.
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    before = set(os.environ)
    import cli.main  # noqa: F401

    set_by_imports = {name: value for name, value in os.environ.items() if name not in before}
    for name in [name for name in sys.modules if name.partition(".")[0] in _IMPORTED_ANEW]:
        del sys.modules[name]
    # What is in memory stays there: a forked process need not copy it, nor free it at its end.
    gc.freeze()
    for line in requests:
        pid = os.fork()
        if pid == 0:
            _become(json.loads(line), set_by_imports)
            return
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)


def _become(request: dict[str, Any], set_by_imports: Mapping[str, str]) -> None:
    """Runs the command line in this process, which ends as that one does."""
    stdin, stdout, stderr = request["streams"]
    os.dup2(os.open(stdin, os.O_RDONLY), 0)
    os.dup2(os.open(stdout, os.O_WRONLY | os.O_CREAT), 1)
    os.dup2(os.open(stderr, os.O_WRONLY | os.O_CREAT), 2)
    os.environ.clear()
    os.environ.update({**set_by_imports, **request["environment"]})
    time.tzset()
    # Read when it was imported.
    kube_config.KUBE_CONFIG_DEFAULT_LOCATION = os.environ.get("KUBECONFIG", "~/.kube/config")
    os.chdir(request["cwd"])
    sys.argv = ["tenancy", *request["arguments"]]
    from cli.main import main

    main()


if __name__ == "__main__":
    _serve()
