"""When a stack's lock may be taken away: only when its holder is provably dead."""

import socket

import psutil

from stacks.errors import Lock


def is_abandoned(lock: Lock) -> bool:
    """Whether the lock's holder ran on this host and is gone, or its pid is somebody younger's."""
    if lock.host != socket.gethostname():
        return False
    try:
        born = psutil.Process(lock.pid).create_time()
    except psutil.NoSuchProcess:
        return True
    # The lock's time has whole seconds.
    return born > lock.since.timestamp() + 1
