"""Creates the virtual environment with the packages of requirements.lock.

The virtual environment is in the user's cache folder. All checkouts with the same lock file and Python
version share it. This module uses only the standard library.
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
# The environment variable that overrides the path of the state folder. With another state folder, a second
# `./dev run` can run at the same time.
FOLDER_VARIABLE = "TENANCY_DEV_DIR"


def state_folder() -> Path:
    """The folder that contains the state and the logs of `./dev` for this checkout."""
    return Path(os.environ.get(FOLDER_VARIABLE) or ROOT / ".dev").absolute()


def environment_folder(lock_file: Path | None = None) -> Path:
    """The folder of the virtual environment that contains the packages of a lock file.

    The default lock file is requirements.lock. This function does not create the folder.
    """
    python = f"{sys.version} {sysconfig.get_platform()}"
    packages = (lock_file or LOCK_FILE).read_bytes()
    key = hashlib.sha256(packages + python.encode()).hexdigest()[:12]
    return cache_folder() / "environments" / f"{sys.implementation.cache_tag}-{key}"


def is_entered() -> bool:
    """Whether this process runs in the virtual environment."""
    folder = environment_folder()
    return folder.exists() and folder.samefile(sys.prefix)


def enter(arguments: Sequence[str]) -> None:
    """Replace this process with a new `./dev` process that runs in the virtual environment.

    `arguments` are the command line arguments of the new process.
    """
    python = _python(ensure_environment())
    sys.stdout.flush()
    sys.stderr.flush()
    # pip installs the packages without bytecode files. With PYTHONDONTWRITEBYTECODE, Python does not write
    # them either, so each process would spend 3 s on compiling the packages again.
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    os.execve(python, [str(python), str(ROOT / "dev"), *arguments], variables)


def ensure_environment(lock_file: Path | None = None) -> Path:
    """Return the folder of the virtual environment. Create the environment if it is missing or incomplete."""
    folder = environment_folder(lock_file)
    if not _is_complete(folder):
        with locked(folder):
            if not _is_complete(folder):
                _create_environment(folder, lock_file or LOCK_FILE)
    return folder


def pip_command(python: Path) -> list[str]:
    """The pip command that installs packages for the interpreter `python`.

    If this interpreter has no pip, the command uses the pip of the base Python. Raises SetupFailed if the
    base Python has no usable pip either.
    """
    own = [str(python), "-m", "pip"]
    if _succeeds([*own, "--version"]):
        return own
    base = [sys._base_executable, "-m", "pip", "--python", str(python)]  # type: ignore[attr-defined]
    if _succeeds([*base, "--version"]):
        return base
    raise SetupFailed(
        "./dev needs ensurepip, or pip 22.3 or newer. This Python has neither of them.\n"
        "Install ensurepip (Debian, Ubuntu: apt install python3-venv), or use another Python 3.11 or newer."
    )


def pip_install(pip: Sequence[str], requirements: Path, *options: str, title: str) -> None:
    """Install the packages of a requirements file, and show the progress on stderr.

    The file must contain the hashes of the packages. If pip fails, raises SetupFailed with the last lines of
    pip's output.
    """
    total = sum("==" in line for line in requirements.read_text().splitlines())
    command = [*pip, "install", "--require-hashes", "--no-input", "--no-user", "--progress-bar=off"]
    # pip does not compile the modules, because most of them are never imported. Python compiles the others
    # when they are imported.
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
        raise SetupFailed(
            "".join(output[-30:]) + f"pip could not install {requirements.name}. See the output above."
        )


def _create_environment(folder: Path, lock_file: Path) -> None:
    # A virtual environment cannot be moved, so it is created under its final path. The marker file is created
    # last. It shows that the environment is complete.
    shutil.rmtree(folder, ignore_errors=True)
    with Progress("Creating the Python environment"):
        if not _succeeds([sys.executable, "-m", "venv", str(folder)]):
            # On Debian, ensurepip is a separate package. If it is missing, create an environment without pip.
            # The pip of the base Python then installs the packages.
            shutil.rmtree(folder, ignore_errors=True)
            if not _succeeds([sys.executable, "-m", "venv", "--without-pip", str(folder)]):
                raise SetupFailed(
                    f"`{sys.executable} -m venv` fails. Run ./dev with another Python 3.11 or newer."
                )
    pip_install(pip_command(_python(folder)), lock_file, title="Installing the Python packages")
    _marker(folder).touch()


def _is_complete(folder: Path) -> bool:
    # bin/python is a link to the base Python. It does not exist if the base Python has been uninstalled.
    return _marker(folder).exists() and _python(folder).exists()


def _marker(folder: Path) -> Path:
    return folder / "complete"


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"


def _succeeds(command: Sequence[str]) -> bool:
    return subprocess.run(command, capture_output=True).returncode == 0
