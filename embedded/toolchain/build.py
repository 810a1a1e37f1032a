"""Builds tools from the Go modules in engine/ and under toolchain/. The builds do not modify the checkout.

Several modules are built in parallel. One progress line shows the progress of all builds. The go.sum of each
module pins the versions of all its dependencies.
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
from embedded.toolchain.compiler import COMPILER_FLAGS
from embedded.toolchain.golang import ensure_go, kill_running_go, run_go
from embedded.toolchain.modules import DOWNLOAD_PREFIX, fetch_module
from embedded.toolchain.tools import Tool

# A function that writes the files of a tool to a folder.
WriteFiles = Callable[[Tool, Path], None]
# A function that makes sure that a tool is in the cache. If the tool is not in the cache, the function calls
# its second argument to write the files.
EnsureCached = Callable[[Tool, WriteFiles], object]

# Progress is counted in units. Compiling a package is one unit, and linking a tool is this many units. With
# empty caches on two cores, each build compiled 6 to 11 packages per second. The numbers of files and bytes
# per second vary more. Linking takes a few seconds. For example, a build of kube-scheduler took 4 s when only
# 6 packages had to be compiled.
_LINK_UNITS = 36
# Modules are built in parallel, because a single `go build` does not use all cores while it links, and while
# many packages wait for one package.
_MODULES_AT_ONCE: Final = 3
_PACKAGE = re.compile(r"[\w.~/-]+")


def build_tools(tools: Sequence[Tool], ensure_cached: EnsureCached) -> None:
    """Build the tools in several threads.

    Calls `ensure_cached` once per tool, with a function that builds the tool. If a build fails, this function
    stops the other builds and raises SetupFailed. If the tool is optional, this function raises SetupFailed
    after the other builds have ended. Compiled packages stay in Go's build cache.
    """
    for tool in tools:
        ensure_go(tool.folder)  # Called here, because it may install Go and then prints a progress line too.
    with Progress("Building the tools") as progress:
        _Builds(tools, progress).run(ensure_cached)
        progress.detail = ", ".join(tool.name for tool in tools)


class _Builds:
    """The builds of one `build_tools` call. They share one progress line."""

    def __init__(self, tools: Sequence[Tool], progress: Progress) -> None:
        self._tools = tools
        self._progress = progress
        self._started = time.monotonic()
        self._downloaded = 0
        # The units of work and the completed units, keyed by tool name. A tool is added when its units are
        # known.
        self._units: dict[str, int] = {}
        self._done_units: dict[str, int] = {}
        # The packages that `_units` already counts. A package that several tools share is compiled once.
        self._counted_packages: set[str] = set()
        self._optional_failures: list[SetupFailed] = []
        self._lock = threading.Lock()
        self._slots = threading.Semaphore(_MODULES_AT_ONCE)

    def run(self, ensure_cached: EnsureCached) -> None:
        # Tools of one module share most packages. They are built one after the other, so that each package
        # is compiled only once.
        modules: dict[Path, list[Tool]] = {}
        for tool in self._tools:
            modules.setdefault(tool.folder, []).append(tool)
        with ThreadPoolExecutor(len(modules)) as threads:
            builds = [threads.submit(self._build_module, tools, ensure_cached) for tools in modules.values()]
            try:
                for build in as_completed(builds):
                    build.result()
            except BaseException:
                _cancel(builds)
                raise
        for error in self._optional_failures:
            raise error

    def _build_module(self, tools: Sequence[Tool], ensure_cached: EnsureCached) -> None:
        # List the packages without the semaphore. Listing downloads the Go modules, and the downloads should
        # run in parallel with each other and with the first builds.
        for tool in tools:
            with self._failures_of(tool):
                packages = self._packages_to_compile(tool)
                with self._lock:
                    self._units[tool.name] = len(packages - self._counted_packages) + _LINK_UNITS
                    self._counted_packages |= packages
        with self._slots:
            for tool in tools:
                if self._units[tool.name]:
                    with self._failures_of(tool):
                        ensure_cached(tool, self._build)

    @contextmanager
    def _failures_of(self, tool: Tool) -> Iterator[None]:
        """If the `with` block raises SetupFailed, raise an error that also names the tool.

        If the tool is optional, do not raise the error, but add it to `_optional_failures`. In the progress
        line, the tool then counts as completed.
        """
        try:
            yield
        except SetupFailed as error:
            failure = SetupFailed(f"{error}\n{tool.name} {tool.version} could not be built.")
            if not tool.is_optional:
                raise failure from error
            self._optional_failures.append(failure)
            self._units[tool.name] = self._done_units[tool.name] = 0

    def _build(self, tool: Tool, folder: Path) -> None:
        go = str(ensure_go(tool.folder))
        source = folder / "source"
        copy_source(go, tool, source, self._count_download)
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
            self._done_units[tool.name] = min(compiled, self._units[tool.name] - _LINK_UNITS)
            self._update_progress()

        count("")
        command = [go, "build", "-v", "-ldflags", tool.ldflags, "-o", str(target)]
        run_go([*command, *build_flags(tool), tool.package], source, count)
        self._done_units[tool.name] = self._units[tool.name]
        self._update_progress()

    def _packages_to_compile(self, tool: Tool) -> set[str]:
        """The import path and version of each package that Go has not compiled yet for this tool."""
        go = str(ensure_go(tool.folder))
        line = "{{if .Stale}}{{.ImportPath}}{{with .Module}}@{{.Version}}{{end}}{{end}}"
        with tempfile.TemporaryDirectory(prefix="tenancy-list-") as folder:
            source = Path(folder) / "source"
            copy_source(go, tool, source, self._count_download)
            command = [go, "list", "-deps", "-f", line, *build_flags(tool), tool.package]
            lines = run_go(command, source, self._count_download).splitlines()
        return {line for line in lines if line and not line.startswith("go: ")}

    def _count_download(self, line: str) -> None:
        if line.startswith(DOWNLOAD_PREFIX):
            with self._lock:
                self._downloaded += 1
            self._update_progress()

    def _update_progress(self) -> None:
        """Show the number of downloaded Go modules, or the completed share of the builds.

        The share is known only after all tools are in `_units`. Until then, the line shows the number.
        """
        done_units, units = dict(self._done_units), dict(self._units)
        current = ", ".join(name for name, done in done_units.items() if done < units[name])
        if len(units) < len(self._tools):
            compiling = f", compiling {current}" if current else ""
            self._progress.detail = f"{self._downloaded} Go modules downloaded{compiling}"
            return
        elapsed_s = time.monotonic() - self._started
        share, left = share_text(sum(done_units.values()), sum(units.values()), elapsed_s)
        self._progress.detail = f"{share}{f' ({current})' if current else ''}{left}"


def _cancel(builds: Sequence[Future[None]]) -> None:
    """Cancel waiting builds, kill running builds, and wait until all builds have ended."""
    for build in builds:
        build.cancel()
    while wait(builds, timeout=0.1).not_done:
        kill_running_go()


def copy_source(go: str, tool: Tool, target: Path, on_line: Callable[[str], None]) -> None:
    """Copy the folder of the tool to `target`, and add the files that the tool's Go code embeds.

    The folder `target` must not exist yet. `go` is the path of the `go` command, which downloads the files.
    Calls `on_line` with each line that Go prints.
    """
    shutil.copytree(tool.folder, target)
    for file in tool.embeds:
        module = fetch_module(go, file.folder, file.module, on_line)
        shutil.copyfile(module / file.path, target / file.name)


def build_flags(tool: Tool) -> list[str]:
    """The build flags that all Go commands for a tool must use.

    Go's build cache stores packages separately for each combination of these flags. With other flags, Go
    would compile the packages again.
    """
    return ["-trimpath", "-tags", tool.tags, *COMPILER_FLAGS]
