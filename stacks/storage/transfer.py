"""Copies all stacks of a backend to another backend, and encrypts stacks with another passphrase.

The program `tenancy-engine` does the work, one stack after the other. It can be repeated after an
interruption.
"""

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from stacks.backend import backend_environment, backend_url
from stacks.command import PulumiProcess
from stacks.engine.binary import engine_binary
from stacks.errors import EngineUnavailable, StackError, stack_error

# `engine/copy_command.go` and `engine/rekey_command.go` read these variables. The values may be secrets, so
# they are not on the command line.
_TARGET_VARIABLE: Final = "TENANCY_TARGET_URL"
_NEW_PASSPHRASE_VARIABLE: Final = "TENANCY_NEW_PASSPHRASE"
# The states of the watcher are compressed.
_ENVIRONMENT: Final = {"PULUMI_DIY_BACKEND_GZIP": "true", "PULUMI_DIY_BACKEND_NO_LEGACY_WARNING": "true"}
_TIMEOUT_S: Final = 6 * 3600.0


def move_stacks(source: str, target: str) -> int:
    """Copy all stacks to an empty backend. Return the number of stacks.

    Afterwards, watchers use only the target. They refuse the source, whose stacks stay unchanged.
    """
    return _copy(source, target, "--usable", "--move")


def back_up_stacks(source: str, target: str) -> int:
    """Copy all stacks to an empty backend, or update an earlier backup. Watchers refuse the backup."""
    return _copy(source, target)


def restore_stacks(backup: str, target: str, *, is_overwriting: bool) -> int:
    """Copy all stacks of a backup. Unless `is_overwriting` is true, the target must contain no stacks."""
    return _copy(backup, target, "--usable", *(["--overwrite"] if is_overwriting else []))


def rotate_passphrase(url: str, new: str) -> int:
    """Encrypt the states of all tenants with a new passphrase. Return the number of changed stacks.

    The environment variables contain the current passphrase.
    """
    lines = _run(["rekey"], url, {_NEW_PASSPHRASE_VARIABLE: new})
    return sum(line["isChanged"] for line in lines)


def _copy(source: str, target: str, *flags: str) -> int:
    if backend_url(source) == backend_url(target):
        raise StackError("the source and the target are the same backend")
    lines = _run(["copy", *flags], source, {_TARGET_VARIABLE: backend_url(target)})
    return sum(bool(line["stack"]) for line in lines)


def _run(arguments: Sequence[str], url: str, variables: Mapping[str, str]) -> list[dict[str, Any]]:
    environment = {**_ENVIRONMENT, **backend_environment(backend_url(url)), **variables}
    try:
        engine = engine_binary()
    except EngineUnavailable as error:
        raise StackError(f"the command needs tenancy-engine: {error}") from None
    with tempfile.TemporaryDirectory(prefix="tenancy-") as folder:
        result = PulumiProcess(_TIMEOUT_S).execute([engine], list(arguments), str(Path(folder)), environment)
    if result.code != 0:
        raise stack_error(result.stderr)
    return [json.loads(line) for line in result.stdout.splitlines()]
