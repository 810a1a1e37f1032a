"""The columns, rows and sizes of the benchmark. This module needs no installed package."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

_FLOOR: Final = (
    "One server-side apply request for each object of the tenant. No state, no watch and no status."
)
_DOCUMENTED: Final = (
    "`create_or_select_stack` and `up` of Pulumi's Automation API, as in Pulumi's guide. From the first call"
    " to the end of `up`. No watch and no status."
)
_CLI: Final = (
    "From the server-side apply request of the Tenant until a watch reports that the Tenant is Ready. The"
    " watcher starts the Pulumi CLI for each operation (`TENANCY_ENGINE=cli`)."
)
_WARM: Final = (
    "The same as in the previous column. The watcher keeps Pulumi's engine running (`TENANCY_ENGINE=warm`)."
)
# By column: its title, and what its figures include.
COLUMNS: Final = {
    "floor": ("server-side apply", _FLOOR),
    "documented": ("Automation API", _DOCUMENTED),
    "cli": ("watcher, CLI", _CLI),
    "warm": ("watcher, warm engine", _WARM),
}
# By row: its description for `--help`.
ROWS: Final = {
    "create": "create tenants one after the other",
    "plan": "change the plan of a tenant",
    "drift": "delete a Role; the watcher restores and records it",
    "noop": "run an update that changes no object",
    "delete": "delete a tenant",
    "burst": "create many tenants at once",
    "restart": "restart the watcher with unchanged tenants",
    "idle": "CPU time and memory without work",
    "cost": "CPU time of a new tenant, by number of existing tenants",
}


@dataclass(frozen=True)
class Sizes:
    """The number of operations in each row."""

    creates: int = 20
    # The number of operations in each of the rows plan, drift and noop.
    changes: int = 10
    deletes: int = 3
    burst: int = 100
    # The number of tenants that are created at the same time. The watcher has 4 workers by default.
    parallel: int = 4
    # The watcher reconciles a tenant again 2 s after an update. The CPU time includes this reconcile.
    afterwards_s: float = 2.5
    # The length of an idle measurement, and the pause before it. After the pause, the watcher has written the
    # usage of new tenants to their status.
    idle_s: float = 20.0
    idle_pause_s: float = 12.0
    restart: int = 100
    idle: tuple[int, ...] = (0, 100)
    # For each number of existing tenants, the row cost creates `cost_batch` tenants.
    cost: tuple[int, ...] = (10, 100)
    cost_batch: int = 10


def sizes_of(column: str, *, is_full: bool) -> Sizes:
    """The sizes for a column. Slow columns have fewer operations, so that a run takes less than 10 minutes.

    Fewer stacks favour the documented method: the cost of its updates grows with the number of stacks.
    """
    sizes = Sizes()
    if column == "documented":
        return replace(sizes, creates=6, changes=3, deletes=2, burst=20)
    if column == "cli":
        sizes = replace(sizes, creates=10, changes=6, deletes=2)
    return replace(sizes, idle=(0, 100, 1000), cost=(10, 100, 1000)) if is_full else sizes


def names_in(choices: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """A parser for a comma-separated list of some of the choices. The result has the order of `choices`."""

    def parse(text: str) -> tuple[str, ...]:
        names = [name.strip() for name in text.split(",")]
        if unknown := [name for name in names if name not in choices]:
            problem = f"unknown name {unknown[0]!r}; possible names: {', '.join(choices)}"
            raise argparse.ArgumentTypeError(problem)
        return tuple(name for name in choices if name in names)

    return parse
