"""What we know of Pulumi's backends, beyond their URL.

The file backend's layout is used to save two processes per operation: one that would create
an empty stack, one that would ask for the number of the newest update. All other backends
go through the CLI.
"""

import json
import os
import tempfile
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pulumi.automation import Stack

from tenancy.names import PROJECT


def backend_url(url: str) -> str:
    """The URL as we use it: the file backend without a second file for each file's attributes."""
    return f"{url}?metadata=skip" if urlsplit(url).scheme == "file" and "?" not in url else url


def is_passphrase_backend(url: str) -> bool:
    """Whether stacks there keep their secrets under a passphrase of ours, not under the service's key."""
    return urlsplit(url).scheme not in ("http", "https")


def create_in_file_backend(url: str, stack: str) -> None:
    """Writes the empty stack the CLI would write. Does nothing on other backends, or where it exists."""
    folder = _bookkeeping(url)
    if folder is None or not (folder / "meta.yaml").exists():
        return  # The CLI writes the backend's own metadata with the first stack.
    checkpoint = folder / "stacks" / PROJECT / f"{stack}.json"
    if checkpoint.exists():
        return
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    empty = {"version": 3, "checkpoint": {"stack": f"organization/{PROJECT}/{stack}", "latest": None}}
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=f"{stack}.")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(empty, file)
    os.replace(temporary, checkpoint)


def update_count(url: str, stack: Stack) -> int:
    """The number of the stack's newest update."""
    folder = _bookkeeping(url)
    if folder is not None:
        found = (folder / "history" / PROJECT / stack.name).glob("*.history.json*")
        # Beside each file there may be one for its attributes.
        return sum(1 for file in found if file.suffix != ".attrs")
    history = stack.history(show_secrets=False)
    # Only the service numbers its updates.
    return history[0].version or len(history) if history else 0


def _bookkeeping(url: str) -> Path | None:
    parts = urlsplit(url)
    return Path(unquote(parts.path)) / ".pulumi" if parts.scheme == "file" else None
