"""Installs Debian packages that tests need."""

import os
import shutil
import subprocess
from collections.abc import Sequence

from embedded.progress import Progress

_TIMEOUT_S = 1200.0


def install_with_apt(package: str) -> bool:
    """Install a Debian package if this process runs as root. Return whether the package is installed now.

    The function does not use sudo, because sudo would ask for a password during the tests.
    """
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return False
    with Progress(f"Installing {package} with apt-get (once)"):
        succeeds(["apt-get", "update"])
        return succeeds(["apt-get", "install", "-y", "--no-install-recommends", package])


def succeeds(command: Sequence[str], timeout_s: float = _TIMEOUT_S) -> bool:
    """Run a command without output. Return whether its exit code is 0."""
    try:
        result = subprocess.run(
            command,
            env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return result.returncode == 0
