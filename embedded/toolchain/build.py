"""Builds tools from their Go modules under toolchain/, two modules at a time, with one progress line.

The resolver calls it for tools that it finds nowhere else. The go.sum of each module pins every source. The
checkout is never written to.
"""

import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from embedded.errors import SetupFailed
from embedded.progress import Progress, share_text
from embedded.toolchain.golang import ensure_go, kill_running_go, run_go
from embedded.toolchain.modules import IS_DOWNLOAD, fetch_module
from embedded.toolchain.tools import Tool

# Puts the files of a tool into a folder.
Build = Callable[[Tool, Path], None]

# `-s -w` drops debug information; making it takes a fifth of the CPU time (measured on Go's own library).
_COMPILER_FLAGS = "all=-dwarf=false"
# Progress counts packages: from empty caches on two cores, each tool took 6 to 11 of them a second. Counts of
# files and bytes vary more. Linking costs as much as this many packages: kube-scheduler, the last of its
# module with only 6 left to compile, took 4 s.
_LINK_UNITS = 36
# A single `go build` leaves a core idle while it links, and while all of pulumi waits for one package.
_MODULES_AT_ONCE: Final = 3
_PACKAGE = re.compile(r"[\w.~/-]+")


def build_tools(tools: Sequence[Tool], provide: Callable[[Tool, Build], object]) -> None:
    """Call `provide` once per tool, in several threads, with the function that builds the tool.

    The first failure ends the other builds. Packages that are compiled by then stay in Go's cache.
    """
    for tool in tools:
        ensure_go(tool.folder)  # has a progress line of its own where Go has to be installed
    with Progress("Building the tools") as progress:
        _Builds(tools, progress).run(provide)
        progress.detail = ", ".join(tool.name for tool in tools)


class _Builds:
    """The builds of one call. The unit of work is a package to compile."""

    def __init__(self, tools: Sequence[Tool], progress: Progress) -> None:
        self._tools = tools
        self._progress = progress
        self._started = time.monotonic()
        self._downloaded = 0
        # By tool, once it is known: the work in units, and how much of it is done.
        self._units: dict[str, int] = {}
        self._compiled: dict[str, int] = {}
        self._listed: set[str] = set()
        self._lock = threading.Lock()
        self._slots = threading.Semaphore(_MODULES_AT_ONCE)

    def run(self, provide: Callable[[Tool, Build], object]) -> None:
        # The tools of one module have most packages in common: one after the other, each is compiled once.
        modules: dict[Path, list[Tool]] = {}
        for tool in self._tools:
            modules.setdefault(tool.folder, []).append(tool)
        with ThreadPoolExecutor(len(modules)) as threads:
            builds = [threads.submit(self._build_module, tools, provide) for tools in modules.values()]
            try:
                for build in as_completed(builds):
                    build.result()
            except BaseException:
                _end(builds)
                raise

    def _build_module(self, tools: Sequence[Tool], provide: Callable[[Tool, Build], object]) -> None:
        # Downloads of all modules overlap with each other and with the first builds.
        for tool in tools:
            with _naming(tool):
                packages = self._packages_to_compile(tool)
            with self._lock:
                self._units[tool.name] = len(packages - self._listed) + _LINK_UNITS
                self._listed |= packages
        with self._slots:
            for tool in tools:
                with _naming(tool):
                    provide(tool, self._build)

    def _build(self, tool: Tool, folder: Path) -> None:
        go = str(ensure_go(tool.folder))
        source = folder / "source"
        self._copy_source(go, tool, source)
        self._compile(go, tool, source, folder / tool.name)
        for file in tool.companions:
            module = fetch_module(go, file.folder, file.module, self._count_download)
            shutil.copyfile(module / file.path, folder / file.name)
            (folder / file.name).chmod(0o755)
        shutil.rmtree(source)

    def _compile(self, go: str, tool: Tool, source: Path, target: Path) -> None:
        compiled = 0

        def count(line: str) -> None:
            nonlocal compiled
            compiled += bool(_PACKAGE.fullmatch(line))
            self._compiled[tool.name] = min(compiled, self._units[tool.name] - _LINK_UNITS)
            self._show()

        count("")
        command = [go, "build", "-v", "-ldflags", tool.ldflags, "-o", str(target)]
        run_go([*command, *_flags(tool), tool.package], source, count)
        self._compiled[tool.name] = self._units[tool.name]
        self._show()

    def _packages_to_compile(self, tool: Tool) -> set[str]:
        """Import path and version of each package that is not in Go's cache as this build needs it."""
        go = str(ensure_go(tool.folder))
        line = "{{if .Stale}}{{.ImportPath}}{{with .Module}}@{{.Version}}{{end}}{{end}}"
        with tempfile.TemporaryDirectory(prefix="tenancy-list-") as folder:
            source = Path(folder) / "source"
            self._copy_source(go, tool, source)
            command = [go, "list", "-deps", "-f", line, *_flags(tool), tool.package]
            lines = run_go(command, source, self._count_download).splitlines()
        return {line for line in lines if line and not line.startswith("go: ")}

    def _copy_source(self, go: str, tool: Tool, source: Path) -> None:
        shutil.copytree(tool.folder, source)
        for file in tool.embeds:
            module = fetch_module(go, file.folder, file.module, self._count_download)
            shutil.copyfile(module / file.path, source / file.name)

    def _count_download(self, line: str) -> None:
        if line.startswith(IS_DOWNLOAD):
            with self._lock:
                self._downloaded += 1
            self._show()

    def _show(self) -> None:
        """Report the share of the work once all of it is known, before that the downloads."""
        compiled, units = dict(self._compiled), dict(self._units)
        current = ", ".join(name for name, done in compiled.items() if done < units[name])
        if len(units) < len(self._tools):
            compiling = f", compiling {current}" if current else ""
            self._progress.detail = f"{self._downloaded} Go modules downloaded{compiling}"
            return
        elapsed_s = time.monotonic() - self._started
        share, left = share_text(sum(compiled.values()), sum(units.values()), elapsed_s)
        self._progress.detail = f"{share}{f' ({current})' if current else ''}{left}"


@contextmanager
def _naming(tool: Tool) -> Iterator[None]:
    """Adds to a failure which tool is missing because of it."""
    try:
        yield
    except SetupFailed as error:
        raise SetupFailed(f"{error}\n{tool.name} {tool.version} is not built.") from error


def _end(builds: Sequence[Future[None]]) -> None:
    """Ends builds that run in other threads, and those that have not begun; returns when all are over."""
    for build in builds:
        build.cancel()
    while wait(builds, timeout=0.1).not_done:
        kill_running_go()


def _flags(tool: Tool) -> list[str]:
    """What decides whether Go takes a package from its cache."""
    return ["-trimpath", "-tags", tool.tags, "-gcflags", _COMPILER_FLAGS]
