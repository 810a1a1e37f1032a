"""Detects stack locks whose process has ended. Only such locks may be cleared."""

import socket

import psutil

from stacks.errors import Lock
from stacks.ownership.processes import this_machine
from tenancy.leaders import Leadership

_NO_LEADERS = Leadership()


def is_abandoned(lock: Lock, leadership: Leadership = _NO_LEADERS) -> bool:
    """Whether the process that took the lock has provably ended.

    A watcher that no longer leads has ended all of its commands before another watcher leads. So if a former
    leader has taken the lock on another machine, the command has ended. On this machine, commands can
    continue to run after their watcher was killed, so the process of the lock must have ended too.

    If no former leader has taken the lock, the process must have run on this machine. A lock that is older
    than this machine may belong to another machine with the same name.
    """
    holder = leadership.holder(lock.host, lock.since)
    if holder and holder.id != leadership.current:
        return holder.machine != this_machine() or _has_ended(lock)
    is_local = lock.host == socket.gethostname() and _machine_start_s() <= lock.since.timestamp() + 1
    return is_local and _has_ended(lock)


def _has_ended(lock: Lock) -> bool:
    """Whether the process with the lock's pid is not the process that took the lock.

    - No process has the pid now.
    - The process with the pid is a zombie.
    - The process with the pid started after the lock was taken. The system has then reused the pid.
    """
    try:
        process = psutil.Process(lock.pid)
        started_at, is_ended = process.create_time(), process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
    # The lock's time has a resolution of one second.
    return is_ended or started_at > lock.since.timestamp() + 1


def _machine_start_s() -> float:
    """The start time of the container or of the machine, in which this process runs."""
    try:
        return psutil.Process(1).create_time()
    except psutil.Error:  # The system may hide the processes of other users.
        return psutil.boot_time()
