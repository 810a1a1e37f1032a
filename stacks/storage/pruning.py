"""Removes old updates from the history of stacks, with the command `tenancy-engine prune`.

The command locks each stack while it prunes the stack's history. If another process holds the lock of a
stack, the command skips this stack.
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
    """The limits of a stack's history. Pruning keeps the newest `updates` updates.

    Updates that are older than `days` days are removed too. The newest update is always kept.
    """

    updates: int = 100
    days: int = 90


@dataclass(frozen=True)
class Pruned:
    """The result of pruning one stack: the numbers of removed and kept updates.

    If the stack could not be pruned, `problem` says why. Otherwise, `problem` is empty.
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
    """Run `tenancy-engine prune` in `folder`, and return one result per stack.

    `command` runs the program. The variables in `environment` select the backend. Raises StackError if the
    program is not installed or fails.
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
