"""Reads and writes the watcher's own objects in a state backend, beside the objects of Pulumi.

In a file backend, an object is a file, and its key is the path in the backend's folder. For other backends,
the program `tenancy-engine` reads and writes the objects. It uses the same URL and credentials as Pulumi.
"""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from stacks.backend import file_backend_folder, replace_file
from stacks.command import PulumiProcess
from stacks.engine.binary import engine_binary
from stacks.errors import EngineUnavailable, StackError, stack_error
from stacks.project import work_folder


class Objects(Protocol):
    """The methods raise OSError or StackError if the backend cannot be used."""

    def read(self, prefix: str) -> dict[str, bytes]:
        """The objects whose keys start with `prefix`, by key."""

    def write(self, key: str, content: bytes) -> None:
        """Write an object. If there is an object with this key, replace it."""

    def delete(self, key: str) -> None:
        """Delete the object if it exists."""


def backend_objects(
    url: str, run_dir: Path, command: PulumiProcess, environment: Mapping[str, str]
) -> Objects:
    """The objects in the backend with this URL. `url` is a result of `backend_url`.

    The commands of other backends than file backends run in `run_dir`, with the variables in `environment`.
    """
    folder = file_backend_folder(url)
    return FileObjects(folder.parent) if folder else EngineObjects(run_dir, command, environment)


class FileObjects:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, prefix: str) -> dict[str, bytes]:
        # A prefix is a folder and the start of a name, so other folders need not be listed.
        start = self._folder / prefix
        folder, name = (start, "") if prefix.endswith("/") or not prefix else (start.parent, start.name)
        objects: dict[str, bytes] = {}
        for file in folder.rglob("*") if folder.is_dir() else ():
            if file.relative_to(folder).as_posix().startswith(name) and file.is_file():
                try:
                    objects[file.relative_to(self._folder).as_posix()] = file.read_bytes()
                except FileNotFoundError:
                    continue  # Another process has deleted the file.
        return objects

    def write(self, key: str, content: bytes) -> None:
        file = self._folder / key
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(file, content, file.parent)

    def delete(self, key: str) -> None:
        (self._folder / key).unlink(missing_ok=True)


class EngineObjects:
    """Objects in a bucket or in a database. Each call runs one process of `tenancy-engine`."""

    def __init__(self, run_dir: Path, command: PulumiProcess, environment: Mapping[str, str]) -> None:
        self._run_dir = run_dir
        self._command = command
        self._environment = environment

    def read(self, prefix: str) -> dict[str, bytes]:
        entries = [json.loads(line) for line in self._run("read", prefix).splitlines()]
        return {entry["key"]: base64.b64decode(entry["content"] or "") for entry in entries}

    def write(self, key: str, content: bytes) -> None:
        self._run("write", key, base64.b64encode(content).decode())

    def delete(self, key: str) -> None:
        self._run("delete", key)

    def _run(self, operation: str, key: str, text: str = "") -> str:
        try:
            engine = engine_binary()
        except EngineUnavailable as error:
            raise StackError(f"the state backend needs tenancy-engine: {error}") from None
        with work_folder(self._run_dir, "objects", None) as folder:
            result = self._command.execute(
                [engine], ["objects", operation, key], str(folder), self._environment, text
            )
        if result.code != 0:
            raise stack_error(result.stderr)
        return result.stdout
