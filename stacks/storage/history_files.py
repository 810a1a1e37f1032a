"""Reads a stack's history from the files of a file backend, without a CLI process."""

import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from stacks.backend import COMPRESSED, file_backend_folder, stack_exists
from stacks.errors import StackError, StackNotFound
from tenancy.base.names import PROJECT

# An entry of a stack's history, in the format of `pulumi stack history --json`.
Entry = dict[str, Any]
Result = TypeVar("Result")

_RETRIES: Final = 10
# Python cannot read files with this ending. The CLI can read them.
_UNREADABLE: Final = ".zst"


def file_history(url: str, stack: str) -> list[Entry] | None:
    """The history of a stack in a file backend, newest first.

    None if the backend is not a file backend, or if a file of the history is compressed with zstd. Raises
    StackNotFound if there is no such stack, and StackError if a file is damaged.
    """
    folder = file_backend_folder(url)
    if folder is None:
        return None
    if not stack_exists(folder, stack):
        raise StackNotFound(f"no stack named {stack!r} found")
    entries = _retried(lambda: [_entry(file) for file in _record_files(folder, stack)])
    return None if None in entries else [entry for entry in reversed(entries) if entry is not None]


def _record_files(folder: Path, stack: str) -> list[Path]:
    """The files with the records of the updates, oldest first."""
    files = (folder / "history" / PROJECT / stack).glob("*.history.json*")
    # Omit `.attrs` files. If the backend's URL lacks `metadata=skip`, there is one for each file.
    return sorted(file for file in files if file.suffix in (".json", *COMPRESSED))


def _entry(file: Path) -> Entry | None:
    """The entry in a file of the history. None if the file is compressed with zstd."""
    if file.suffix == _UNREADABLE:
        return None
    content = file.read_bytes()
    try:
        record = json.loads(gzip.decompress(content) if file.suffix == ".gz" else content)
        return {
            "kind": record["kind"],
            "message": record.get("message", ""),
            "result": record["result"],
            "startTime": _time(record["startTime"]),
            "endTime": _time(record.get("endTime")),
            "resourceChanges": record.get("resourceChanges") or {},
            # Omit encrypted and structured values, because no caller needs them.
            "config": {
                key: {"value": value}
                for key, value in (record.get("config") or {}).items()
                if isinstance(value, str)
            },
        }
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, gzip.BadGzipFile) as error:
        raise StackError(f"cannot read {file}: {error!r}") from None


def _time(seconds: int | None) -> str | None:
    return datetime.fromtimestamp(seconds, UTC).isoformat() if seconds else None


def _retried(read: Callable[[], Result]) -> Result:
    """Call `read`, which lists and reads files. Call it again if a listed file no longer exists."""
    for _ in range(_RETRIES):
        try:
            return read()
        except FileNotFoundError:
            continue
    return read()
