"""Prints the cost of each folder's tests: wall time, and CPU time of all processes that they started."""

import os
import time
from collections import Counter, defaultdict
from collections.abc import Generator
from typing import Any

import psutil
import pytest

_WALL, _CPU = "wall", "cpu"
_KEY = "tenancy_costs"


class Costs:
    """A plugin, in each worker and in the process that gathers their results."""

    def __init__(self) -> None:
        self.seconds: defaultdict[tuple[str, str], float] = defaultdict(float)
        self.tests: Counter[str] = Counter()
        self._folder = ""
        self._wall_s = self._cpu_s = 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        folder = item.nodeid.rpartition("::")[0].rpartition("/")[0]
        if folder != self._folder:
            self._close()
            self._folder = folder
        self.tests[folder] += 1
        return (yield)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._close()
        output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_KEY] = [[folder, kind, value] for (folder, kind), value in self.seconds.items()]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        for folder, kind, value in getattr(node, "workeroutput", {}).get(_KEY, []):
            self.seconds[folder, kind] += value

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and hasattr(report, "node"):
            self.tests[report.nodeid.partition("::")[0].rpartition("/")[0]] += 1

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        folders = sorted({folder for folder, _ in self.seconds}, key=lambda name: -self.seconds[name, _WALL])
        if not folders:
            return
        terminalreporter.section("seconds per folder")
        terminalreporter.write_line(f"{'folder':<28} {'tests':>6} {'wall':>7} {'CPU':>7}")
        for folder in folders:
            self._write(terminalreporter, folder, self.tests[folder], [folder])
        self._write(terminalreporter, "all", self.tests.total(), folders)

    def _write(self, reporter: pytest.TerminalReporter, title: str, tests: int, folders: list[str]) -> None:
        wall_s, cpu_s = (sum(self.seconds[folder, kind] for folder in folders) for kind in (_WALL, _CPU))
        reporter.write_line(f"{title:<28} {tests:>6} {wall_s:>7.0f} {cpu_s:>7.0f}")

    def _close(self) -> None:
        """Charge the folder with all since the last change of folders."""
        wall_s, cpu_s = time.monotonic(), _cpu_s()
        if self._folder:
            self.seconds[self._folder, _WALL] += wall_s - self._wall_s
            # What a process that nobody waited for has used is lost with it.
            self.seconds[self._folder, _CPU] += max(0.0, cpu_s - self._cpu_s)
        self._wall_s, self._cpu_s = wall_s, cpu_s


def _cpu_s() -> float:
    """Of this process, of all that it has started and of all that those have waited for."""
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
