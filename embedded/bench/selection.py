"""The columns, rows and sizes of the benchmark. This module uses only the standard library."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

_FLOOR: Final = (
    "One server-side apply request for each object of the tenant. This method has no state, no watch and no"
    " status."
)
_DOCUMENTED: Final = (
    "The calls `create_or_select_stack` and `up`, as in Pulumi's guide to the Automation API. This method has"
    " no watch and no status."
)
_CLI: Final = (
    "The time from the request that applies the Tenant until a watch reports that the Tenant is Ready. The"
    " watcher starts the Pulumi CLI for each operation (`TENANCY_ENGINE=cli`)."
)
_WARM: Final = (
    "The same time as in the column of the CLI. Here, Pulumi's engine keeps running between operations"
    " (`TENANCY_ENGINE=warm`)."
)
# The title of each column, and a description of the method that it measures.
COLUMNS: Final = {
    "floor": ("server-side apply", _FLOOR),
    "documented": ("Automation API", _DOCUMENTED),
    "cli": ("watcher, CLI", _CLI),
    "warm": ("watcher, warm engine", _WARM),
}
# The description of each row, for `--help`.
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
    """The numbers of operations and tenants in the rows of the benchmark, and the lengths of pauses."""

    creates: int = 20
    # The number of operations in each of the rows plan, drift and noop.
    changes: int = 10
    deletes: int = 3
    burst: int = 100
    # The number of tenants that are created at the same time. It equals the default number of workers.
    parallel: int = 4
    # How long a measurement continues after the last operation. The watcher reconciles a tenant again 2 s
    # after an update, and the CPU time must include this reconcile.
    afterwards_s: float = 2.5
    # The length of an idle measurement, and the pause before it. After the pause, the watcher has written the
    # usage of new tenants to their status. Without tenants, there is no pause.
    idle_s: float = 10.0
    idle_pause_s: float = 12.0
    restart: int = 100
    idle: tuple[int, ...] = (0, 100)
    # The numbers of existing tenants in the row `cost`. For each number, the row measures the creation of
    # `cost_batch` more tenants.
    cost: tuple[int, ...] = (10, 100)
    cost_batch: int = 10


def sizes_of(column: str, *, is_full: bool) -> Sizes:
    """The sizes for a column. With `is_full`, the watcher is also measured with 1,000 tenants.

    Slow columns have fewer operations, so that a run without `is_full` takes less than 10 minutes. So the
    column `documented` has fewer stacks. This is an advantage for the column, because its updates take longer
    if more stacks exist.
    """
    sizes = Sizes()
    if column == "documented":
        return replace(sizes, creates=6, changes=3, deletes=2, burst=12)
    if column == "cli":
        sizes = replace(sizes, creates=10, changes=6, deletes=2, cost_batch=6)
    return replace(sizes, idle=(0, 100, 1000), cost=(10, 100, 1000)) if is_full else sizes


def names_in(choices: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """Create a function that parses a comma-separated list of names, for argparse.

    The function returns the names in the order of `choices`. It raises ArgumentTypeError if a name is not one
    of the choices.
    """

    def parse(text: str) -> tuple[str, ...]:
        names = [name.strip() for name in text.split(",")]
        if unknown := [name for name in names if name not in choices]:
            problem = f"unknown name {unknown[0]!r}; possible names: {', '.join(choices)}"
            raise argparse.ArgumentTypeError(problem)
        return tuple(name for name in choices if name in names)

    return parse
