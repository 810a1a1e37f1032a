"""Reads the text of manifests from files, folders and standard input."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tenancy.base.errors import TenancyError

STDIN: Final = "-"
_SUFFIXES: Final = (".yaml", ".yml", ".json")


class ManifestError(TenancyError):
    """A path cannot be read, or a document in a file is not a valid manifest.

    The first line of a file is 1. If the whole file cannot be read, `line` is 0.
    """

    reason = "InvalidManifest"

    def __init__(self, file: str, line: int, problem: str) -> None:
        super().__init__(f"{location_text(file, line)}: {problem}")
        self.file, self.line, self.problem = file, line, problem


# A file's name as the user gave it, and its content.
Source = tuple[str, str]


def location_text(file: str, line: int) -> str:
    """The file and the line as text, such as `a.yaml:3`. If `line` is 0, only the file."""
    return f"{file}:{line}" if line else file


def read_sources(paths: Sequence[str | Path]) -> list[Source | ManifestError]:
    """Read the given files, and the manifest files in the given folders. The path `-` means standard input.

    If a file or folder cannot be read, the result contains a ManifestError instead of its text.
    """
    return [source for path in paths for source in _read(path)]


def is_manifest_file(name: str) -> bool:
    """Whether the file name ends with .yaml, .yml or .json, and no part of the path starts with a dot."""
    path = Path(name)
    return path.suffix in _SUFFIXES and not any(part.startswith(".") for part in path.parts)


def _read(path: str | Path) -> Iterator[Source | ManifestError]:
    if str(path) == STDIN:
        yield STDIN, sys.stdin.read()
        return
    root = Path(path)
    files = (
        sorted(file for file in root.rglob("*") if is_manifest_file(str(file.relative_to(root))))
        if root.is_dir()
        else [root]
    )
    for file in files:
        if not root.is_dir() or file.is_file():
            yield _content(file)


def _content(file: Path) -> Source | ManifestError:
    name = file.as_posix()
    try:
        # With surrogateescape, the YAML library reports the position of invalid bytes.
        return name, file.read_text(encoding="utf-8", errors="surrogateescape")
    except FileNotFoundError:
        return ManifestError(name, 0, "there is no such file or folder")
    except OSError as error:
        return ManifestError(name, 0, f"can't be read: {error.strerror}")
