"""Finds the program of the warm engine, and checks its version."""

import os
import shutil
import subprocess
from importlib.metadata import version
from typing import Final

from stacks.errors import EngineUnavailable

# Environment variable with the path of the engine's program. `./dev run` sets it, because the program is
# sometimes built only after the watcher has started.
BINARY_VARIABLE: Final = "TENANCY_ENGINE_BINARY"
_BINARY: Final = "tenancy-engine"
_TIMEOUT_S: Final = 30.0


def engine_binary() -> str:
    """The absolute path of the program `tenancy-engine`. Raises EngineUnavailable if it is not installed."""
    binary = os.environ.get(BINARY_VARIABLE) or shutil.which(_BINARY)
    if not binary or not os.access(binary, os.X_OK):
        raise EngineUnavailable(f"the program {_BINARY} is not installed")
    return os.path.abspath(binary)


def check_version(found: str) -> None:
    """Raise EngineUnavailable if `found` is not the version of the Python package `pulumi`.

    `found` is the version that the engine reports.
    """
    if found != version("pulumi"):
        raise EngineUnavailable(
            f"{_BINARY} has version {found}, but the Python package pulumi has version {version('pulumi')};"
            " both must have the same version"
        )


def installed_version() -> str:
    """The version of the installed engine. Raises EngineUnavailable if the engine cannot be used."""
    try:
        result = subprocess.run(
            [engine_binary(), "--version"], capture_output=True, text=True, timeout=_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise EngineUnavailable(f"{_BINARY} cannot be started: {error}") from None
    found = result.stdout.strip().removeprefix("v")
    check_version(found)
    return found
