"""The folder in the user's cache where everything costly is kept, shared by all checkouts.

Called by whatever fills it: the environment, Go, the tools. It knows how to fill it safely (one
process at a time, nothing half done under a final name), not what goes in.
"""

import fcntl
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base).absolute() / "tenancy"


@contextmanager
def locked(target: Path) -> Iterator[None]:
    """Hold the right to make `target`; a second process waits here until the first is done or dead."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_name(f"{target.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"Another process is preparing {target.name}; waiting for it.", file=sys.stderr, flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """An empty folder to fill, which becomes `folder` at the end and disappears on any error.

    Call it under `locked(folder)`: the name is fixed so that what a killed process left is swept up.
    """
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
