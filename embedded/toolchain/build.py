"""Builds tools from their Go modules under toolchain/, with one progress line over all of them.

The resolver calls it for tools that it finds nowhere else. The go.sum of each module pins every source. The
checkout is never written to.
"""

import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from embedded.errors import SetupFailed
from embedded.progress import Progress, share_text
from embedded.toolchain.golang import ensure_go, run_go
from embedded.toolchain.modules import count_downloads, fetch_module
from embedded.toolchain.tools import Tool

# `-s -w` drops debug information; making it takes a fifth of the CPU time (measured on Go's own library).
_COMPILER_FLAGS = "all=-dwarf=false"
# Progress counts packages: from empty caches on two cores, each tool took 6 to 11 of them a second. Counts of
# files and bytes vary more. Linking costs as much as this many packages: kube-scheduler, the last of its
# module with only 6 left to compile, took 4 s.
_LINK_UNITS = 36
_PACKAGE = re.compile(r"[\w.~/-]+")


class Builds:
    """The builds of one call. The unit of work is a package to compile."""

    def __init__(self, tools: Sequence[Tool], progress: Progress) -> None:
        self._tools = tools
        self._progress = progress
        # Work of each tool, in the order of the builds: what an earlier tool compiles is not compiled again.
        self._units: dict[str, int] = {}
        self._started = 0.0

    def build(self, tool: Tool, folder: Path) -> None:
        """Put the tool's files into the folder."""
        try:
            self._build(tool, folder)
        except SetupFailed as error:
            raise SetupFailed(f"{error}\n{tool.name} {tool.version} is not built.") from error

    def list_packages(self) -> None:
        """Find out how much there is to compile. Go downloads the modules it lacks meanwhile."""
        counted: set[str] = set()
        for tool in self._tools:
            packages = _packages_to_compile(tool, self._progress) - counted
            counted |= packages
            self._units[tool.name] = len(packages) + _LINK_UNITS
        self._started = time.monotonic()

    def _build(self, tool: Tool, folder: Path) -> None:
        go = str(ensure_go(tool.folder))
        source = folder / "source"
        _copy_source(go, tool, source, self._progress)
        self._compile(go, tool, source, folder / tool.name)
        for file in tool.companions:
            module = fetch_module(go, file.folder, file.module, self._progress)
            shutil.copyfile(module / file.path, folder / file.name)
            (folder / file.name).chmod(0o755)
        shutil.rmtree(source)

    def _compile(self, go: str, tool: Tool, source: Path, target: Path) -> None:
        names = list(self._units)
        number = names.index(tool.name)
        total, before = sum(self._units.values()), sum(self._units[name] for name in names[:number])
        compiled = 0

        def count(line: str) -> None:
            nonlocal compiled
            compiled += bool(_PACKAGE.fullmatch(line))
            done = before + min(compiled, self._units[tool.name])
            share, left = share_text(done, total, time.monotonic() - self._started)
            self._progress.detail = f"{share} ({tool.name}, {number + 1} of {len(names)}){left}"

        count("")
        command = [go, "build", "-v", "-ldflags", tool.ldflags, "-o", str(target)]
        run_go([*command, *_flags(tool), tool.package], source, count)


@contextmanager
def building(tools: Sequence[Tool]) -> Iterator[Builds]:
    """Shows the progress of building these tools, in this order."""
    for tool in tools:
        ensure_go(tool.folder)  # has a progress line of its own where Go has to be installed
    with Progress("Building the tools") as progress:
        builds = Builds(tools, progress)
        builds.list_packages()
        yield builds
        progress.detail = ", ".join(tool.name for tool in tools)


def _packages_to_compile(tool: Tool, progress: Progress) -> set[str]:
    """Import path and version of each package that is not in Go's cache as this build needs it."""
    go = str(ensure_go(tool.folder))
    line = "{{if .Stale}}{{.ImportPath}}{{with .Module}}@{{.Version}}{{end}}{{end}}"
    with tempfile.TemporaryDirectory(prefix="tenancy-list-") as folder:
        source = Path(folder) / "source"
        _copy_source(go, tool, source, progress)
        command = [go, "list", "-deps", "-f", line, *_flags(tool), tool.package]
        lines = run_go(command, source, count_downloads(progress)).splitlines()
    return {line for line in lines if line and not line.startswith("go: ")}


def _copy_source(go: str, tool: Tool, source: Path, progress: Progress) -> None:
    shutil.copytree(tool.folder, source)
    for file in tool.embeds:
        module = fetch_module(go, file.folder, file.module, progress)
        shutil.copyfile(module / file.path, source / file.name)


def _flags(tool: Tool) -> list[str]:
    """What decides whether Go takes a package from its cache."""
    return ["-trimpath", "-tags", tool.tags, "-gcflags", _COMPILER_FLAGS]
