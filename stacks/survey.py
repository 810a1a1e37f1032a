"""Reads the names and the locks of the stacks in tenancy's Pulumi project from a backend. Changes nothing.

Locks can be read only from a file backend, which stores each lock as a file.
"""

import json
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from pulumi.automation import CommandError

from stacks.backend import backend_url
from stacks.command import PulumiProcess
from stacks.errors import Lock, stack_error
from stacks.project import work_folder
from tenancy.base.names import PROJECT

_TIMEOUT_S: Final = 60.0


def stack_names(url: str) -> list[str]:
    """The names of the stacks in tenancy's Pulumi project. Raises StackError if they cannot be read."""
    command = PulumiProcess(_TIMEOUT_S)
    environment = {"PULUMI_BACKEND_URL": backend_url(url), "PULUMI_SKIP_UPDATE_CHECK": "true"}
    with (
        tempfile.TemporaryDirectory(prefix="tenancy-") as run_dir,
        work_folder(Path(run_dir), "survey", None) as folder,
    ):
        try:
            result = command.run(["stack", "ls", "--json"], str(folder), environment)
        except CommandError as error:
            raise stack_error(str(error)) from None
    return [entry["name"].rpartition("/")[2] for entry in json.loads(result.stdout)]


def file_locks(url: str) -> list[tuple[str, Lock]] | None:
    """The locks of all stacks, as pairs of stack name and lock. None if the backend is not a file backend."""
    parts = urlsplit(backend_url(url))
    if parts.scheme != "file":
        return None
    folder = Path(unquote(parts.path)) / ".pulumi" / "locks" / "organization" / PROJECT
    return [(file.parent.name, _lock(file)) for file in sorted(folder.glob("*/*.json"))]


def _lock(file: Path) -> Lock:
    entry = json.loads(file.read_text(encoding="utf-8"))
    return Lock(
        entry["username"], entry["hostname"], entry["pid"], datetime.fromisoformat(entry["timestamp"])
    )
