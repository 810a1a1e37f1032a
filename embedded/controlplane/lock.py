"""An exclusive file lock. The kernel releases the lock when all processes have closed the file descriptor."""

import fcntl
import os
import time
from pathlib import Path

POLL_S = 0.05


class LockHeld(Exception):
    """Another process holds the lock."""


def acquire_lock(path: Path, *, timeout_s: float) -> int:
    """Lock the file and return its descriptor. Raises LockHeld if this takes longer than `timeout_s`.

    The lock is held until this process and all processes that inherited the descriptor have closed it.
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
