"""Reads the names and the locks of the stacks in tenancy's Pulumi project from a backend. Changes nothing."""

import json
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Final

from pulumi.automation import CommandError

from stacks.backend import backend_environment, backend_url
from stacks.command import PulumiProcess
from stacks.errors import Lock, stack_error
from stacks.operation import translated_errors
from stacks.project import work_folder
from stacks.result import EventLog
from stacks.storage.objects import backend_objects
from tenancy.base.names import PROJECT

_TIMEOUT_S: Final = 60.0
_LOCKS: Final = f".pulumi/locks/organization/{PROJECT}/"


def stack_names(url: str) -> list[str]:
    """The names of the stacks in tenancy's Pulumi project. Raises StackError if they cannot be read."""
    command = PulumiProcess(_TIMEOUT_S)
    environment = {**backend_environment(backend_url(url)), "PULUMI_SKIP_UPDATE_CHECK": "true"}
    with (
        tempfile.TemporaryDirectory(prefix="tenancy-") as run_dir,
        work_folder(Path(run_dir), "survey", None) as folder,
    ):
        try:
            result = command.run(["stack", "ls", "--json"], str(folder), environment)
        except CommandError as error:
            raise stack_error(str(error)) from None
    return [entry["name"].rpartition("/")[2] for entry in json.loads(result.stdout)]


def stack_locks(url: str) -> list[tuple[str, Lock]]:
    """The locks of all stacks, as pairs of stack name and lock. Raises StackError if they cannot be read."""
    url = backend_url(url)
    with tempfile.TemporaryDirectory(prefix="tenancy-") as run_dir, translated_errors(EventLog()):
        objects = backend_objects(url, Path(run_dir), PulumiProcess(_TIMEOUT_S), backend_environment(url))
        locks = objects.read(_LOCKS)
    return [(key.split("/")[-2], _lock(content)) for key, content in sorted(locks.items())]


def _lock(content: bytes) -> Lock:
    entry = json.loads(content)
    return Lock(
        entry["username"], entry["hostname"], entry["pid"], datetime.fromisoformat(entry["timestamp"])
    )
