"""Finds the program of the warm engine."""

import os
import shutil
from typing import Final

ENGINE_PROGRAM: Final = "tenancy-engine"
# The file of the program. `./dev run` sets the variable while it still builds the program.
BINARY_VARIABLE: Final = "TENANCY_ENGINE_BINARY"


def engine_binary() -> str | None:
    """The path of the program. None if it is not installed."""
    path = os.environ.get(BINARY_VARIABLE) or shutil.which(ENGINE_PROGRAM)
    return path if path and os.access(path, os.X_OK) else None
