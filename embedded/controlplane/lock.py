"""An exclusive file lock. Child processes can inherit the lock."""

import fcntl
import os
import time
from pathlib import Path

POLL_S = 0.05


class LockHeld(Exception):
    """Another process holds the lock."""


def acquire_lock(path: Path, *, timeout_s: float) -> int:
    """Lock the file, and return its descriptor.

    Raises LockHeld if another process still holds the lock after `timeout_s`. The lock lasts until the
    descriptor is closed in this process and in all processes that inherited it.
    """
    lock = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except BlockingIOError:
            if time.monotonic() >= deadline:
                os.close(lock)
                raise LockHeld(str(path)) from None
        time.sleep(POLL_S)
