"""A pytest plugin that prints the wall time and the CPU time of the tests, per folder.

The CPU time includes the processes that the tests start.
"""

import os
import time
from collections import Counter, defaultdict
from collections.abc import Generator
from typing import Any

import psutil
import pytest

_KEY = "tenancy_costs"


class Costs:
    """The pytest plugin.

    It runs in each xdist worker and in the controller, which adds up the workers' times.
    """

    def __init__(self) -> None:
        # The cost of each test file: "tests" is the number of tests, "wall" and "cpu" are in seconds.
        self.costs: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._file = ""
        self._wall_s = self._cpu_s = 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        file = item.nodeid.partition("::")[0]
        if file != self._file:
            self._close_file()
            self._file = file
        self.costs[file]["tests"] += 1
        return (yield)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._close_file()
        output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_KEY] = {file: dict(cost) for file, cost in self.costs.items()}

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        for file, cost in getattr(node, "workeroutput", {}).get(_KEY, {}).items():
            self.costs[file].update(cost)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print one line per folder. With -v, also print one line per file."""
        if not self.costs:
            return
        folders: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for file, cost in self.costs.items():
            folders[file.rpartition("/")[0]].update(cost)
            folders["all"].update(cost)
        terminalreporter.section("seconds per folder")
        terminalreporter.write_line(f"{'':<44} {'tests':>6} {'wall s':>7} {'CPU s':>7}")
        for table in (self.costs, folders) if terminalreporter.verbosity > 0 else (folders,):
            for name, cost in sorted(table.items(), key=lambda row: row[1]["cpu"]):
                figures = f"{cost['tests']:>6} {cost['wall']:>7.0f} {cost['cpu']:>7.0f}"
                terminalreporter.write_line(f"{name:<44} {figures}")

    def _close_file(self) -> None:
        """Add the time since the last call of this method to the current file."""
        wall_s, cpu_s = time.monotonic(), _cpu_s()
        if self._file:
            # The total CPU time decreases if a process ends and its parent has not waited for it.
            spent = {"wall": wall_s - self._wall_s, "cpu": max(0.0, cpu_s - self._cpu_s)}
            self.costs[self._file].update(spent)
        self._wall_s, self._cpu_s = wall_s, cpu_s


def _cpu_s() -> float:
    """The CPU time of this process and its descendants.

    It includes ended processes that their parents waited for.
    """
    own = psutil.Process(os.getpid())
    total = 0.0
    for process in (own, *own.children(recursive=True)):
        try:
            total += sum(process.cpu_times()[:4])
        except psutil.Error:
            continue
    return total


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Costs(), _KEY)
