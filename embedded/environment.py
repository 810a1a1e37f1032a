"""The virtual environment with the packages of requirements.lock, made on first use.

`embedded.cli` calls `enter` before a command that needs packages. The environment lies in the user's
cache and is keyed by the lock file and the Python, so a fresh clone finds it ready. Standard library only.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from embedded.cache import cache_folder, locked
from embedded.errors import SetupFailed
from embedded.progress import Progress

ROOT = Path(__file__).resolve().parent.parent
LOCK_FILE = ROOT / "requirements.lock"
# Puts a session's folder elsewhere: for a second session beside the first, and for tests.
FOLDER_VARIABLE = "TENANCY_DEV_DIR"


def state_folder() -> Path:
    """Where this checkout's sessions keep what they leave behind."""
    return Path(os.environ.get(FOLDER_VARIABLE) or ROOT / ".dev").absolute()


def environment_folder() -> Path:
    python = f"{sys.version} {sysconfig.get_platform()}"
    key = hashlib.sha256(LOCK_FILE.read_bytes() + python.encode()).hexdigest()[:12]
    return cache_folder() / "environments" / f"{sys.implementation.cache_tag}-{key}"


def is_entered() -> bool:
    folder = environment_folder()
    return folder.exists() and folder.samefile(sys.prefix)


def enter(arguments: Sequence[str]) -> None:
    """Start `./dev` again, with the same arguments, inside the environment. Does not return."""
    python = _python(ensure_environment())
    sys.stdout.flush()
    sys.stderr.flush()
    # The packages are installed uncompiled. Without bytecode files, every process compiles them again: 3 s.
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    os.execve(python, [str(python), str(ROOT / "dev"), *arguments], variables)


def ensure_environment() -> Path:
    folder = environment_folder()
    if not _is_complete(folder):
        with locked(folder):
            if not _is_complete(folder):
                _make_environment(folder)
    return folder


def pip_command(python: Path) -> list[str]:
    """How to run a pip that installs for `python`, which need not have a pip itself."""
    own = [str(python), "-m", "pip"]
    if _succeeds([*own, "--version"]):
        return own
    base = [sys._base_executable, "-m", "pip", "--python", str(python)]  # type: ignore[attr-defined]
    if _succeeds([*base, "--version"]):
        return base
    raise SetupFailed(
        "This Python has neither ensurepip nor a pip of version 22.3 or newer.\n"
        "Install one of them (Debian, Ubuntu: apt install python3-venv), or use another Python 3.11+."
    )


def pip_install(pip: Sequence[str], requirements: Path, *options: str, title: str) -> None:
    """Install a hash-pinned requirements file, with progress; pip's own words are shown if it fails."""
    total = sum("==" in line for line in requirements.read_text().splitlines())
    command = [*pip, "install", "--require-hashes", "--no-input", "--no-user", "--progress-bar=off"]
    # Python compiles a module when it is first imported; most of them never are.
    command += ["--no-compile", "--disable-pip-version-check", *options, "-r", str(requirements)]
    output: list[str] = []
    collected = 0
    with (
        Progress(title) as progress,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process,
    ):
        try:
            for line in process.stdout or ():
                output.append(line)
                if line.startswith("Collecting "):
                    collected += 1
                    progress.detail = f"{collected} of at most {total} packages collected"
                elif line.startswith("Installing collected"):
                    progress.detail = f"installing {collected} packages"
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        raise SetupFailed("".join(output[-30:]) + f"pip could not install {requirements.name}; see above.")


def _make_environment(folder: Path) -> None:
    # A virtual environment can't be moved, so it is made in place and only the marker makes it valid.
    shutil.rmtree(folder, ignore_errors=True)
    with Progress("Creating the Python environment"):
        if not _succeeds([sys.executable, "-m", "venv", str(folder)]):
            # Debian splits ensurepip off; an environment without pip can be filled from outside.
            shutil.rmtree(folder, ignore_errors=True)
            if not _succeeds([sys.executable, "-m", "venv", "--without-pip", str(folder)]):
                raise SetupFailed(f"{sys.executable} -m venv fails; use another Python 3.11+.")
    pip_install(pip_command(_python(folder)), LOCK_FILE, title="Installing the Python packages")
    _marker(folder).touch()


def _is_complete(folder: Path) -> bool:
    # The interpreter is a link to the Python it was made with, which may have been uninstalled since.
    return _marker(folder).exists() and _python(folder).exists()


def _marker(folder: Path) -> Path:
    return folder / "complete"


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"


def _succeeds(command: Sequence[str]) -> bool:
    return subprocess.run(command, capture_output=True).returncode == 0
