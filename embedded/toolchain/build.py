"""Builds a tool from its Go module under toolchain/.

Called by the resolver when nothing else can be had, with an empty folder to fill. The go.sum of each
module pins every source, and the checkout itself is never written to.
"""

import re
import shutil
from pathlib import Path

from embedded.progress import Progress
from embedded.toolchain.golang import ensure_go, run_go
from embedded.toolchain.modules import count_downloads, fetch_module
from embedded.toolchain.tools import Tool


def build(tool: Tool, folder: Path) -> None:
    """Put the tool's files into the folder, built from source."""
    go = str(ensure_go(tool.folder))
    source = folder / "source"
    shutil.copytree(tool.folder, source)
    with Progress(f"Building {tool.name} {tool.version} from source") as progress:
        for file in tool.embeds:
            shutil.copyfile(
                fetch_module(go, file.folder, file.module, progress) / file.path, source / file.name
            )
        total = len(_packages(go, tool, source, progress))
        _compile(go, tool, source, folder / tool.name, total, progress)
        for file in tool.companions:
            shutil.copyfile(
                fetch_module(go, file.folder, file.module, progress) / file.path, folder / file.name
            )
            (folder / file.name).chmod(0o755)
    shutil.rmtree(source)


def _packages(go: str, tool: Tool, source: Path, progress: Progress) -> list[str]:
    """Everything the tool is compiled from. Go fetches the modules it lacks while it answers."""
    command = [go, "list", "-deps", "-tags", tool.tags, tool.package]
    listing = run_go(command, source, count_downloads(progress))
    return [line for line in listing.splitlines() if not line.startswith("go: ")]


def _compile(go: str, tool: Tool, source: Path, target: Path, total: int, progress: Progress) -> None:
    compiled = 0

    def count(line: str) -> None:
        nonlocal compiled
        compiled += bool(re.fullmatch(r"[\w.~/-]+", line))
        progress.detail = f"{compiled} packages compiled, of {total} less those in Go's cache"

    count("")
    flags = ["-trimpath", "-tags", tool.tags, "-ldflags", tool.ldflags]
    flags += ["-gcflags", tool.gcflags] if tool.gcflags else []
    run_go([go, "build", "-v", *flags, "-o", str(target), tool.package], source, count)
