"""Builds a tool from its Go module under toolchain/.

Called by the resolver when nothing else can be had, with an empty folder to fill. The go.sum of each
module pins every source, and the checkout itself is never written to.
"""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from embedded.errors import SetupFailed
from embedded.progress import Progress
from embedded.toolchain.golang import ensure_go, go_environment
from embedded.toolchain.tools import ModuleFile, Tool


def build(tool: Tool, folder: Path) -> None:
    """Put the tool's files into the folder, built from source."""
    go = str(ensure_go(tool.folder))
    source = folder / "source"
    shutil.copytree(tool.folder, source)
    with Progress(f"Building {tool.name} {tool.version} from source") as progress:
        for file in tool.embeds:
            _copy_module_file(go, file, source / file.name, progress)
        total = len(_packages(go, tool, source, progress))
        _compile(go, tool, source, folder / tool.name, total, progress)
        for file in tool.companions:
            _copy_module_file(go, file, folder / file.name, progress)
            (folder / file.name).chmod(0o755)
    shutil.rmtree(source)


def _packages(go: str, tool: Tool, source: Path, progress: Progress) -> list[str]:
    """Everything the tool is compiled from. Go fetches the modules it lacks while it answers."""
    listing = run_go([go, "list", "-deps", tool.package], source, _count_downloads(progress))
    return [line for line in listing.splitlines() if not line.startswith("go: ")]


def _compile(go: str, tool: Tool, source: Path, target: Path, total: int, progress: Progress) -> None:
    compiled = 0

    def count(line: str) -> None:
        nonlocal compiled
        compiled += bool(re.fullmatch(r"[\w.~/-]+", line))
        progress.detail = f"{compiled} packages compiled, of {total} less those in Go's cache"

    count("")
    flags = ["-trimpath", "-ldflags", tool.ldflags, *(["-gcflags", tool.gcflags] if tool.gcflags else [])]
    run_go([go, "build", "-v", *flags, "-o", str(target), tool.package], source, count)


def _copy_module_file(go: str, file: ModuleFile, target: Path, progress: Progress) -> None:
    # Go notes what it looked up in the go.mod beside it: in a copy, so that the checkout stays clean.
    copy = target.parent / "lookup"
    shutil.copytree(file.folder, copy)
    run_go([go, "mod", "download", file.module], copy, _count_downloads(progress))
    module = run_go([go, "list", "-m", "-f", "{{.Dir}}", file.module], copy, lambda _: None).strip()
    shutil.copyfile(Path(module) / file.path, target)
    shutil.rmtree(copy)


def _count_downloads(progress: Progress) -> Callable[[str], None]:
    downloaded = 0

    def count(line: str) -> None:
        nonlocal downloaded
        if line.startswith("go: downloading"):
            downloaded += 1
            progress.detail = f"{downloaded} Go modules downloaded"

    return count


def run_go(command: Sequence[str], folder: Path, on_line: Callable[[str], None]) -> str:
    """Run Go to its end and return all it said; on any interruption its whole process group is killed."""
    lines: list[str] = []
    # A group of its own: Go's compilers are its children, and all of them have to end together.
    with subprocess.Popen(
        command,
        cwd=folder,
        env=go_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        process_group=0,
    ) as process:
        try:
            for line in process.stdout or ():
                lines.append(line)
                on_line(line.rstrip("\n"))
            process.wait()
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    output = "".join(lines)
    if process.returncode != 0:
        raise SetupFailed(_explanation(command, output))
    return output


def _explanation(command: Sequence[str], output: str) -> str:
    shown = [line for line in output.splitlines() if " " in line and not line.startswith("go: downloading")]
    return "\n".join(
        [
            *shown[-40:],
            f"go {' '.join(command[1:3])} failed; see above. If Go could not reach its module proxy, set",
            "GOPROXY and start again: what is built already is kept. A fitting binary on PATH is used, too.",
        ]
    )
