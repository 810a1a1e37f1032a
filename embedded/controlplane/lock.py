"""One owner at a time for a folder: a file lock that the kernel drops when its last holder ends.

Used by the control plane for its data folder and by the session for the checkout's state.
"""

import fcntl
import os
import time
from pathlib import Path

POLL_S = 0.05


class LockHeld(Exception):
    """Another process holds the lock."""


def held_lock(path: Path, *, timeout_s: float) -> int:
    """An open file descriptor; the lock lives as long as it, here or in a process that inherits it."""
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
