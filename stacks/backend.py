"""What we know of Pulumi's backends, beyond their URL.

The file backend's layout is used to save two processes per operation: one that would create
an empty stack, one that would ask for the number of the newest update. All other backends
go through the CLI.
"""

import json
import os
import tempfile
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from pulumi.automation import CommandError, Stack

from tenancy.base.names import PROJECT

# The CLI shows ten updates unless told otherwise.
_ALL: Final = 1_000_000


def backend_url(url: str) -> str:
    """The URL as we use it. A file backend's is made absolute, because commands run in folders of their own,
    and is used without a second file for each file's attributes."""
    parts = urlsplit(url)
    if parts.scheme != "file":
        return url
    path = Path(unquote(parts.netloc + parts.path)).expanduser().absolute()
    return f"file://{quote(str(path))}?{parts.query or 'metadata=skip'}"


def is_passphrase_backend(url: str) -> bool:
    """Whether stacks there keep their secrets under a passphrase of ours, not under the service's key."""
    return urlsplit(url).scheme not in ("http", "https")


def create_in_file_backend(url: str, stack: str) -> None:
    """Writes the empty stack the CLI would write. Does nothing on other backends, or where it exists."""
    folder = _bookkeeping(url)
    if folder is None or not (folder / "meta.yaml").exists():
        return  # The CLI writes the backend's own metadata with the first stack.
    checkpoint = folder / "stacks" / PROJECT / f"{stack}.json"
    if any(checkpoint.with_name(checkpoint.name + suffix).exists() for suffix in ("", ".gz", ".zst")):
        return
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    empty = {"version": 3, "checkpoint": {"stack": f"organization/{PROJECT}/{stack}", "latest": None}}
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=f"{stack}.")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(empty, file)
    os.replace(temporary, checkpoint)


def update_count(url: str, stack: Stack) -> int | None:
    """The number of the stack's newest update; None where the backend does not tell."""
    folder = _bookkeeping(url)
    if folder is not None:
        found = (folder / "history" / PROJECT / stack.name).glob("*.history.json*")
        # Beside each file there may be one for its attributes.
        return sum(1 for file in found if file.suffix != ".attrs")
    try:
        history = stack.history(page_size=_ALL, show_secrets=False)
    except CommandError:
        return None  # The update itself went well.
    # Only the service numbers its updates.
    return history[0].version or len(history) if history else 0


def _bookkeeping(url: str) -> Path | None:
    parts = urlsplit(url)
    return Path(unquote(parts.path)) / ".pulumi" if parts.scheme == "file" else None
