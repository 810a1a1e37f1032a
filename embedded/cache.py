"""The cache folder. It contains the virtual environment, Go and the tools.

All checkouts of a user share the cache folder. `locked` lets only one process at a time write to a folder in
the cache. `replacing` creates a folder under a temporary name, and renames the folder when it is complete.
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
    """Hold the lock of the folder `target` during the `with` block.

    Waits while another process holds the lock.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_name(f"{target.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"Waiting until another process has created {target}.", file=sys.stderr, flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder. If the `with` block raises no error, this folder then replaces `folder`.

    Call this function inside `locked(folder)`. After an error, the temporary folder is removed. If the
    process is killed, the temporary folder remains until the next call for the same `folder`.
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
