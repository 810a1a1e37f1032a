"""Identifies processes, so that another process can prove later that they have ended."""

import os
import socket
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Final

from tenancy.leaders import Leader

_PROC: Final = Path("/proc")
# The position of the start time in /proc/PID/stat, counted from the state of the process.
_START_FIELD: Final = 19


@cache
def this_machine() -> str:
    """Identifies the running machine and the PID namespace of this process. Empty if there is no /proc.

    A host name is not enough: after a force-delete, a new pod has the name of a pod that may still run.
    """
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{socket.gethostname()} {boot} {(_PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return ""


def process_start(pid: int) -> str:
    """The start time of a process in clock ticks since the boot. Empty if the process has ended."""
    try:
        fields = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # The name of the program comes before the state. It is in parentheses, and may contain spaces.
    values = fields.rpartition(")")[2].split()
    return "" if values[0] == "Z" else values[_START_FIELD]


def has_ended(leader: Leader) -> bool:
    """Whether the process of a leader has provably ended.

    False if it runs, or if it ran on another machine or in another PID namespace, such as another container.
    """
    if not leader.machine or leader.machine != this_machine():
        return False
    return leader.process_start != process_start(leader.pid)


def this_process(holder_id: str, since: datetime) -> Leader:
    """The record of this process as a leader with this ID, since this time."""
    pid = os.getpid()
    return Leader(
        id=holder_id,
        host=socket.gethostname(),
        pid=pid,
        process_start=process_start(pid),
        machine=this_machine(),
        since=since,
    )
