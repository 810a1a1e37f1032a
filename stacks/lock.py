"""Detects locks whose holder is certainly dead. Only those may be cleared."""

import socket

import psutil

from stacks.errors import Lock


def is_abandoned(lock: Lock) -> bool:
    """Whether the lock's holder ran on this host and is dead: its pid is free, or a newer process has it."""
    if lock.host != socket.gethostname():
        return False
    try:
        started_at = psutil.Process(lock.pid).create_time()
    except psutil.NoSuchProcess:
        return True
    # The lock's time has a resolution of one second.
    return started_at > lock.since.timestamp() + 1
