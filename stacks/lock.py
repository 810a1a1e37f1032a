"""Detects stack locks whose process has ended. Only such locks may be cleared."""

import socket

import psutil

from stacks.errors import Lock


def is_abandoned(lock: Lock) -> bool:
    """Whether the process that took the lock ran on this host and has ended.

    The lock contains the pid of this process. The process has ended in each of these cases:

    - No process has the pid now.
    - The process with the pid is a zombie.
    - The process with the pid started after the lock was taken. The system has then reused the pid.
    """
    if lock.host != socket.gethostname():
        return False
    try:
        process = psutil.Process(lock.pid)
        started_at, is_ended = process.create_time(), process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
    # The lock's time has a resolution of one second.
    return is_ended or started_at > lock.since.timestamp() + 1
