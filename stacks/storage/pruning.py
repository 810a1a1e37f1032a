"""Removes old updates from the history of stacks, with the command `tenancy-engine prune`.

The command locks each stack while it prunes the stack. If another process has already locked a stack, the
command does not prune this stack.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stacks.command import PulumiProcess
from stacks.engine.binary import engine_binary
from stacks.errors import EngineUnavailable, StackError
from tenancy.base.names import PROJECT


@dataclass(frozen=True)
class HistoryLimits:
    """The limits of a stack's history. The newest update is always kept.

    An update is removed if there are at least `updates` newer updates, or if it is older than `days` days.
    """

    updates: int = 100
    days: int = 90


@dataclass(frozen=True)
class Pruned:
    """The result for one stack: how many updates were removed and kept.

    If the stack could not be pruned, `problem` contains the error.
    """

    stack: str
    removed: int
    kept: int
    problem: str = ""


def prune_stacks(
    command: PulumiProcess,
    folder: Path,
    environment: Mapping[str, str],
    stacks: Sequence[str],
    limits: HistoryLimits,
) -> list[Pruned]:
    """Prune the history of the stacks. `environment` selects the backend. The command runs in `folder`.

    Raises StackError if no stack can be pruned, for example because the command is missing.
    """
    try:
        engine = engine_binary()
    except EngineUnavailable as error:
        raise StackError(f"the history cannot be pruned: {error}") from None
    options = ["--keep-updates", str(limits.updates), "--keep-days", str(limits.days)]
    arguments = ["prune", "--project", PROJECT, *options, *stacks]
    result = command.execute([engine], arguments, str(folder), environment)
    try:
        entries = [json.loads(line) for line in result.stdout.splitlines()]
        results = [
            Pruned(entry["stack"], entry["removed"], entry["kept"], entry.get("problem", ""))
            for entry in entries
        ]
    except (ValueError, KeyError):
        results = []
    if len(results) != len(stacks):
        raise StackError(f"the history cannot be pruned: {result.stderr.strip() or result.stdout.strip()}")
    return results
