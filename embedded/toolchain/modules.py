"""Downloads Go modules, and finds files in them. Nothing is compiled.

The go.mod files under toolchain/ define the versions of the modules. Go caches the modules, so each module is
downloaded only once.
"""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from embedded.progress import Progress
from embedded.toolchain.golang import ensure_go, run_go
from embedded.toolchain.tools import ModuleFile

# The start of the line that Go prints for each module it downloads.
DOWNLOAD_PREFIX: Final = "go: downloading"


def module_files(file: ModuleFile) -> list[Path]:
    """The paths of all files in the Go module `file.module` that match the pattern `file.path`.

    Downloads the module if it is not in Go's module cache. The files are in this cache, and are read-only.
    Raises LookupError if no file matches.
    """
    with Progress(f"Downloading {file.module}") as progress:
        go = str(ensure_go(file.folder))
        folder = fetch_module(go, file.folder, file.module, _count_downloads(progress))
    paths = sorted(folder.glob(file.path))
    if not paths:
        raise LookupError(
            f"{file.module} has no file {file.path} in the version that {file.folder / 'go.mod'} requires"
        )
    return paths


def fetch_module(go: str, folder: Path, module: str, on_line: Callable[[str], None]) -> Path:
    """Download a Go module, and return the folder of the module in Go's module cache.

    The go.mod in `folder` defines the version of the module. Calls `on_line` with each line that Go prints.
    """
    # Go may update go.mod and go.sum in its working directory, so run Go in a copy of the folder.
    with tempfile.TemporaryDirectory(prefix="tenancy-lookup-") as temporary:
        copy = Path(temporary) / "module"
        shutil.copytree(folder, copy)
        run_go([go, "mod", "download", module], copy, on_line)
        return Path(run_go([go, "list", "-m", "-f", "{{.Dir}}", module], copy, lambda _: None).strip())


def _count_downloads(progress: Progress) -> Callable[[str], None]:
    downloaded = 0

    def count(line: str) -> None:
        nonlocal downloaded
        if line.startswith(DOWNLOAD_PREFIX):
            downloaded += 1
            progress.detail = f"{downloaded} Go modules downloaded"

    return count
