"""The record of a running `./dev run`: its processes, its kubeconfig, its Pulumi backend and its tools.

The supervisor, which is the main process of `./dev run`, writes the record to `session.json` in the state
folder. The commands `./dev env`, `./dev pid` and `./dev stop` read the record. `./dev run` reads the record
too, because it must not start twice. If the supervisor is not running, the record is outdated.
"""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil

from embedded.controlplane.kubeconfig import write_private

SUPERVISOR = "supervisor"
# Two start times within this tolerance count as equal. The system rounds the start time of a process to a
# clock tick, and the reported time changes when the system clock is set.
START_TOLERANCE_S = 2.0


@dataclass(frozen=True)
class ProcessIdentity:
    """The id and the start time of a process. The id alone is not unique, because the system reuses ids."""

    pid: int
    started: float

    @classmethod
    def of(cls, pid: int) -> "ProcessIdentity | None":
        """The identity of the process with this id. None if there is no such process."""
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
class InstanceRecord:
    """The data that programs need to connect to a running `./dev run`.

    `processes` is keyed by the process name.
    """

    kubeconfig: str
    backend_url: str
    tools: dict[str, str]
    # The URL of the watcher's web page. Empty until the watcher is started.
    page_url: str = ""
    is_ready: bool = False
    processes: dict[str, ProcessIdentity] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "InstanceRecord | None":
        """The record in the file. None if the file is missing or has an unexpected format."""
        try:
            fields = json.loads(path.read_bytes())
            identities = {
                name: ProcessIdentity(**identity) for name, identity in fields.pop("processes").items()
            }
            return cls(**fields, processes=identities)
        except (FileNotFoundError, ValueError, TypeError, KeyError):
            return None

    def write(self, path: Path) -> None:
        write_private(path, json.dumps(asdict(self), indent=2))

    def live_pids(self) -> dict[str, int]:
        """The IDs of the processes that are running, keyed by name."""
        return {name: identity.pid for name, identity in self.processes.items() if identity.is_alive()}


def live_record(path: Path) -> InstanceRecord | None:
    """The record in the file. None if there is no record, or if the recorded supervisor is not running."""
    record = InstanceRecord.read(path)
    return record if record and SUPERVISOR in record.live_pids() else None
