"""Files out of Go modules, each in the version that a go.mod under toolchain/ asks for.

Called by the builds for what they take from other modules, and by `embedded.toolchain.crds`. Go keeps what it
has fetched, so each module comes over the network once. Nothing is compiled here.
"""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from embedded.progress import Progress
from embedded.toolchain.golang import ensure_go, run_go
from embedded.toolchain.tools import ModuleFile

# How a line begins that Go prints for each module it downloads.
IS_DOWNLOAD: Final = "go: downloading"


def module_files(wanted: ModuleFile) -> list[Path]:
    """The files where Go keeps them, for reading only; fetched on first use, with progress on stderr."""
    with Progress(f"Fetching {wanted.module}") as progress:
        go = str(ensure_go(wanted.folder))
        folder = fetch_module(go, wanted.folder, wanted.module, _count_downloads(progress))
    found = sorted(folder.glob(wanted.path))
    if not found:
        raise LookupError(
            f"{wanted.module} has no {wanted.path} in the version that {wanted.folder} asks for"
        )
    return found


def fetch_module(go: str, folder: Path, module: str, on_line: Callable[[str], None]) -> Path:
    """Where Go keeps the module that the go.mod in `folder` requires. `on_line` gets what Go prints."""
    # Go notes what it looked up in the go.mod beside it: in a copy, so that the checkout stays clean.
    with tempfile.TemporaryDirectory(prefix="tenancy-lookup-") as temporary:
        copy = Path(temporary) / "module"
        shutil.copytree(folder, copy)
        run_go([go, "mod", "download", module], copy, on_line)
        return Path(run_go([go, "list", "-m", "-f", "{{.Dir}}", module], copy, lambda _: None).strip())


def _count_downloads(progress: Progress) -> Callable[[str], None]:
    downloaded = 0

    def count(line: str) -> None:
        nonlocal downloaded
        if line.startswith(IS_DOWNLOAD):
            downloaded += 1
            progress.detail = f"{downloaded} Go modules downloaded"

    return count
