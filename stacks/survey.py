"""What a backend holds, without touching any of it: the project's stacks, and who has them locked.

Read by `tenancy doctor`. Locks are files in a file backend; other backends don't show theirs.
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
    """StackError where the backend can't be read."""
    command = PulumiProcess(_TIMEOUT_S)
    environment = {"PULUMI_BACKEND_URL": backend_url(url), "PULUMI_SKIP_UPDATE_CHECK": "true"}
    with (
        tempfile.TemporaryDirectory(prefix="tenancy-") as home,
        work_folder(Path(home), "survey", None) as folder,
    ):
        try:
            told = command.run(["stack", "ls", "--json"], str(folder), environment)
        except CommandError as error:
            raise stack_error(str(error)) from None
    return [entry["name"].rpartition("/")[2] for entry in json.loads(told.stdout)]


def file_locks(url: str) -> list[tuple[str, Lock]] | None:
    """Each lock with the stack it is on; None where the backend keeps no files."""
    parts = urlsplit(backend_url(url))
    if parts.scheme != "file":
        return None
    root = Path(unquote(parts.path)) / ".pulumi" / "locks" / "organization" / PROJECT
    return [(file.parent.name, _lock(file)) for file in sorted(root.glob("*/*.json"))]


def _lock(file: Path) -> Lock:
    held = json.loads(file.read_text(encoding="utf-8"))
    return Lock(held["username"], held["hostname"], held["pid"], datetime.fromisoformat(held["timestamp"]))
