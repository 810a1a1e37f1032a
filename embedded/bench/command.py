"""`./dev bench`: measures several methods to create the objects of tenants, and prints the results as tables.

Each method is a column of the tables, and each operation is a row. The methods are measured one after the
other. Each method has its own control plane, so that its objects do not slow down the next method.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psutil
from rich.console import Console
from rich.table import Table

from embedded.bench.direct_column import started_direct_column
from embedded.bench.output.figures import Column, Columns, Step
from embedded.bench.output.report import (
    Machine,
    column_titles,
    costs_table,
    result,
    targets_table,
    times_table,
)
from embedded.bench.selection import COLUMNS, ROWS, Sizes, sizes_of
from embedded.bench.site import Site, started_site
from embedded.bench.watcher_column import WatcherColumn
from embedded.bench.watcher_run import WatcherRun
from embedded.progress import Progress
from embedded.toolchain import resolver as toolchain
from embedded.toolchain.tools import CONTROL_PLANE_TOOLS, STACK_TOOLS, machine
from tenancy.desired import desired_state
from tenancy.plans import read_plans
from tenancy.spec.tenant import tenant_from_manifest
from watcher.log import configure_log

# The program of the warm engine.
_ENGINE: Final = "tenancy-engine"
_NO_ENGINE: Final = (
    f"The column warm is not measured: the watcher did not use the warm engine (the program {_ENGINE})."
)
_DIRECT_COLUMNS: Final = ("floor", "documented")
# The width of the tables if the output is not a terminal.
_WIDTH: Final = 120

Steps = Mapping[str, Callable[[], Step]]


class NoEngine(Exception):
    """The warm engine cannot be measured, because the watcher uses the Pulumi CLI instead of it."""


def bench(args: argparse.Namespace) -> int:
    """Run the benchmark, and print the tables. With `--json FILE`, also write the results to this file."""
    configure_log("error")
    tools = toolchain.ensure_tools((*CONTROL_PLANE_TOOLS, *STACK_TOOLS))
    this_machine = _machine()
    columns: dict[str, Column | None] = {}
    notes: list[str] = []
    with tempfile.TemporaryDirectory(prefix="tenancy-bench.") as folder, Progress("benchmark") as progress:
        for name in args.columns or COLUMNS:

            def report(step: str, name: str = name) -> None:
                progress.detail = f"column {name}: {step}"

            try:
                sizes = sizes_of(name, is_full=args.full)
                columns[name] = measured_column(
                    name, tools, Path(folder) / name, args.rows or tuple(ROWS), sizes, report
                )
            except NoEngine:
                columns[name] = None
                notes.append(_NO_ENGINE)
    objects = len(desired_state(tenant_from_manifest({"metadata": {"name": "x"}}), read_plans()).manifests)
    if args.json:
        figures = result(columns, this_machine, objects, sizes_of("warm", is_full=args.full), notes)
        Path(args.json).write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    _print_tables(columns, this_machine, objects, notes)
    return 0


def measured_column(
    name: str,
    tools: Mapping[str, Path],
    folder: Path,
    rows: Sequence[str],
    sizes: Sizes,
    report: Callable[[str], None],
) -> Column:
    """Start a control plane, and measure the given rows of the column `name`.

    Calls `report` with the name of each step. Raises NoEngine if the column is `warm`, and the watcher does
    not use the warm engine.
    """
    if name == "warm" and shutil.which(_ENGINE, path=toolchain.path_with(tools)) is None:
        raise NoEngine
    report("starts the control plane")
    folder.mkdir()
    with started_site(tools, folder) as site:
        if name in _DIRECT_COLUMNS:
            with started_direct_column(name, site, sizes) as direct:
                return _measured_steps(direct.steps(), rows, report)
        with _started_watcher_column(name, site, sizes) as (column, run):

            def report_and_check(step: str) -> None:
                # Without this check, the figures of the CLI could appear in the column of the warm engine.
                if not run.uses_selected_engine():
                    raise NoEngine
                report(step)

            figures = _measured_steps(column.steps(), rows, report_and_check)
            report_and_check("ends")
            return figures


def _measured_steps(steps: Steps, rows: Sequence[str], report: Callable[[str], None]) -> Column:
    column: Column = {}
    for name, step in steps.items():
        # A row such as `idle` has several steps, such as `idle_100`.
        if name.partition("_")[0] in rows:
            report(name)
            column[name] = step()
    return column


@contextmanager
def _started_watcher_column(
    engine: str, site: Site, sizes: Sizes
) -> Iterator[tuple[WatcherColumn, WatcherRun]]:
    run = WatcherRun(site, engine)
    try:
        meter = run.start()
        run.await_ready()
        column = WatcherColumn(site.admin, run, meter, sizes)
        try:
            yield column, run
        finally:
            column.stop()
    finally:
        run.stop()


def _machine() -> Machine:
    memory_gib = round(psutil.virtual_memory().total / 2**30, 1)
    return Machine("/".join(machine()), os.cpu_count() or 1, memory_gib, round(os.getloadavg()[0], 2))


def _print_tables(columns: Columns, this_machine: Machine, objects: int, notes: Sequence[str]) -> None:
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    titles = column_titles(columns)
    size = f"{this_machine.cores} cores, {this_machine.memory_gib:g} GiB, load {this_machine.load:g}"
    for title, heads, rows in (
        (f"Times: {objects} objects per tenant; {size}", titles, times_table(columns)),
        ("CPU time of one operation, peak memory of all processes", titles, costs_table(columns)),
        ("Targets", ["limit", "measured", "met"], targets_table(columns)),
    ):
        table = Table(title=title)
        table.add_column("")
        for head in heads:
            table.add_column(head, justify="right")
        for row in rows:
            table.add_row(*row)
        console.print(table)
    for name, (title, text) in COLUMNS.items():
        if columns.get(name) is not None:
            console.print(f"{title}: {text}")
    for note in notes:
        console.print(note)
