"""The session's record, `.dev/session.json`: what runs, and how it is reached.

Written by the supervisor; read by `./dev env`, `pid`, `stop`, and by a second `run`. A record whose processes
are dead is stale and counts as none.
"""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil

from embedded.controlplane.kubeconfig import write_private

SUPERVISOR = "supervisor"
# A process's start time is known to a clock tick only, and moves a little when the clock is set.
START_TOLERANCE_S = 2.0


@dataclass(frozen=True)
class ProcessMark:
    """A process and when it started: process ids are used again."""

    pid: int
    started: float

    @classmethod
    def of(cls, pid: int) -> "ProcessMark | None":
        """None when there is no such process."""
        try:
            return cls(pid, psutil.Process(pid).create_time())
        except psutil.NoSuchProcess:
            return None

    def is_alive(self) -> bool:
        try:
            process = psutil.Process(self.pid)
            is_same = abs(process.create_time() - self.started) < START_TOLERANCE_S
            return is_same and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False


@dataclass(frozen=True)
class SessionRecord:
    kubeconfig: str
    backend_url: str
    tools: dict[str, str]
    # The watcher's page; empty before the watcher is started.
    page_url: str = ""
    is_ready: bool = False
    processes: dict[str, ProcessMark] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "SessionRecord | None":
        try:
            fields = json.loads(path.read_bytes())
            marks = {name: ProcessMark(**mark) for name, mark in fields.pop("processes").items()}
            return cls(**fields, processes=marks)
        except (FileNotFoundError, ValueError, TypeError, KeyError):
            return None  # there is none, or another version of this program wrote it

    def write(self, path: Path) -> None:
        write_private(path, json.dumps(asdict(self), indent=2))

    def alive(self) -> dict[str, int]:
        """Ids of the processes that still run, by name."""
        return {name: mark.pid for name, mark in self.processes.items() if mark.is_alive()}


def live_record(path: Path) -> SessionRecord | None:
    """The record of a session that runs now."""
    record = SessionRecord.read(path)
    return record if record and SUPERVISOR in record.alive() else None
