"""The URLs of Pulumi's state backends, and direct access to file backends.

A file backend stores stacks as files. This module reads and writes these files directly. This saves up to two
CLI processes per operation: one that creates an empty stack, and one that reads the version of the newest
update. All other backends are used through the CLI.
"""

import json
import os
import tempfile
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from pulumi.automation import CommandError, Stack

from tenancy.base.names import PROJECT

# The CLI lists only ten updates by default.
_ALL_UPDATES: Final = 1_000_000


def backend_url(url: str) -> str:
    """The URL of the backend, as it is passed to the CLI.

    The path in a file URL becomes absolute, because each command runs in its own folder. A file URL without a
    query gets the query `metadata=skip`. Without this query, the backend would write an additional `.attrs`
    file for each file.
    """
    parts = urlsplit(url)
    if parts.scheme != "file":
        return url
    path = Path(unquote(parts.netloc + parts.path)).expanduser().absolute()
    return f"file://{quote(str(path))}?{parts.query or 'metadata=skip'}"


def is_passphrase_backend(url: str) -> bool:
    """Whether the secrets in the backend's stacks are encrypted with a passphrase."""
    return urlsplit(url).scheme not in ("http", "https")


def create_stack_in_file_backend(url: str, stack: str) -> None:
    """Create an empty stack in a file backend, without the CLI.

    Do nothing if the stack exists, if the backend is not a file backend, or if the CLI has not initialized
    the backend yet.
    """
    folder = _file_backend_folder(url)
    if folder is None or not (folder / "meta.yaml").exists():
        return  # The CLI must create the first stack, because it also writes the backend's metadata.
    checkpoint = folder / "stacks" / PROJECT / f"{stack}.json"
    if any(checkpoint.with_name(checkpoint.name + suffix).exists() for suffix in ("", ".gz", ".zst")):
        return
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    empty = {"version": 3, "checkpoint": {"stack": f"organization/{PROJECT}/{stack}", "latest": None}}
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=f"{stack}.")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(empty, file)
    os.replace(temporary, checkpoint)


def newest_version(url: str, stack: Stack) -> int | None:
    """The version of the stack's newest update, or None if the CLI cannot read the history."""
    folder = _file_backend_folder(url)
    if folder is not None:
        history_files = (folder / "history" / PROJECT / stack.name).glob("*.history.json*")
        # Without `metadata=skip`, the backend writes an attributes file for each history file.
        return sum(1 for file in history_files if file.suffix != ".attrs")
    try:
        history = stack.history(page_size=_ALL_UPDATES, show_secrets=False)
    except CommandError:
        return None  # This is not an error, because the update itself has succeeded.
    # Only the Pulumi service numbers updates. On other backends, the version is the number of updates.
    return history[0].version or len(history) if history else 0


def _file_backend_folder(url: str) -> Path | None:
    parts = urlsplit(url)
    return Path(unquote(parts.path)) / ".pulumi" if parts.scheme == "file" else None
