"""Records in a state backend which cluster uses the backend.

The names of stacks do not contain a cluster. If two clusters used the same backend, they would share the
stacks of tenants with the same name, and each cluster would destroy the tenants of the other.

The record is the output of a stack without resources. So each backend can store it, and Pulumi programs can
read it. `__main__.py` reads it for users who run `pulumi up` themselves.
"""

import contextlib
import gzip
import json
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from stacks.backend import file_backend_folder, replace_file, stack_exists
from stacks.cli import PulumiCli
from stacks.errors import OtherCluster, StackNotFound, StorageFailed, without_secrets
from stacks.operation import translated_errors
from stacks.result import EventLog
from tenancy.base.names import PROJECT
from tenancy.base.platform_names import CLUSTER_STACK
from tenancy.cluster_binding import CLUSTER_ID, other_cluster_problem

BACKEND_ID: Final = "backendId"


@dataclass(frozen=True)
class Record:
    """The cluster that uses a backend, and the ID of the backend. The ID stays when the backend is moved."""

    cluster: str
    backend: str


class ClusterRecord:
    """Reads and writes the record of one backend."""

    def __init__(self, url: str, cli: PulumiCli) -> None:
        """`url` is a result of `backend_url`."""
        self.url = without_secrets(url)
        self._folder = file_backend_folder(url)
        self._cli = cli

    def read(self) -> Record | None:
        """The record. None if no cluster has used the backend yet.

        Raises StackError if the backend cannot be read.
        """
        with translated_errors(EventLog()):
            deployment = self._deployment()
        for resource in (deployment or {}).get("resources") or ():
            outputs = resource.get("outputs") or {}
            if CLUSTER_ID in outputs:
                return Record(outputs[CLUSTER_ID], outputs.get(BACKEND_ID, ""))
        return None

    def check(self, cluster: str) -> Record | None:
        """The record. Raises OtherCluster if the backend records another cluster than this one."""
        record = self.read()
        if record and record.cluster != cluster:
            raise OtherCluster(other_cluster_problem(record.cluster, cluster))
        return record

    def claim(self, cluster: str, *, is_forced: bool = False) -> Record:
        """Record that this cluster uses the backend, and return the record.

        Raises OtherCluster if the backend records another cluster, unless `is_forced` is true.
        """
        record = self.read() if is_forced else self.check(cluster)
        if record and record.cluster == cluster:
            return record
        new = Record(cluster, record.backend if record else str(uuid.uuid4()))
        with translated_errors(EventLog()):
            self._write(new)
        return new

    def _deployment(self) -> dict[str, Any] | None:
        if self._folder is not None:
            if not stack_exists(self._folder, CLUSTER_STACK):
                return None
            with contextlib.suppress(FileNotFoundError):
                return _latest(self._file(self._folder))
        try:
            exported = self._cli.run(CLUSTER_STACK, "stack", "export")
        except StackNotFound:
            return None
        deployment: dict[str, Any] | None = json.loads(exported)["deployment"]
        return deployment

    def _write(self, record: Record) -> None:
        deployment = _deployment_of(record)
        if self._folder is not None and self._is_writable(self._folder):
            # This is faster than the CLI, and also works in a backend without stacks.
            file = self._file(self._folder)
            file.parent.mkdir(parents=True, exist_ok=True)
            checkpoint = {
                "version": 3,
                "checkpoint": {"stack": f"organization/{PROJECT}/{CLUSTER_STACK}", "latest": deployment},
            }
            replace_file(file, gzip.compress(json.dumps(checkpoint).encode()), self._folder)
            return
        self._cli.import_stack(CLUSTER_STACK, {"version": 3, "deployment": deployment})

    def _is_writable(self, folder: Path) -> bool:
        """Whether this class can write the file itself. Writes the metadata of a new backend."""
        is_used = stack_exists(folder, CLUSTER_STACK) and not self._file(folder).exists()
        metadata = folder / "meta.yaml"
        if not metadata.exists() and not (folder / "stacks").exists():
            folder.mkdir(parents=True, exist_ok=True)
            replace_file(metadata, b"version: 1\n", folder)
        return not is_used and metadata.exists()

    @staticmethod
    def _file(folder: Path) -> Path:
        return folder / "stacks" / PROJECT / f"{CLUSTER_STACK}.json.gz"


def _latest(file: Path) -> dict[str, Any] | None:
    """The deployment in a state file. Raises StorageFailed if the content is invalid."""
    content = file.read_bytes()
    try:
        latest: dict[str, Any] | None = json.loads(gzip.decompress(content))["checkpoint"]["latest"]
    except (OSError, EOFError, ValueError, LookupError) as error:
        raise StorageFailed(f"{file} is damaged: {error}; restore the file from a backup") from None
    return latest


def _deployment_of(record: Record) -> dict[str, Any]:
    urn = f"urn:pulumi:{CLUSTER_STACK}::{PROJECT}::pulumi:pulumi:Stack::{PROJECT}-{CLUSTER_STACK}"
    return {
        "manifest": {"time": "2000-01-01T00:00:00Z", "magic": "", "version": ""},
        "resources": [
            {
                "urn": urn,
                "custom": False,
                "type": "pulumi:pulumi:Stack",
                "outputs": {CLUSTER_ID: record.cluster, BACKEND_ID: record.backend},
            }
        ],
    }
