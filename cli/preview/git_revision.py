"""Reads manifests and plans at a git revision. Runs the program `git`.

The local clone must contain the revision. A shallow clone may lack the revision.
"""

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from cli.manifests.sources import STDIN, Source, is_manifest_file
from tenancy.base.errors import TenancyError

# A pull request can contain files that look like a bare repository, with a configuration that makes git run
# commands. This option makes git ignore such repositories.
_SAFE_OPTIONS: Final = ("-c", "safe.bareRepository=explicit")


class RevisionError(TenancyError):
    """git cannot read the files at the revision."""

    reason = "NoRevision"


def sources_at_revision(revision: str, paths: Sequence[str]) -> list[Source]:
    """Read the manifest files in these paths as they are at the revision.

    The name of each source starts with the path that the user gave. Raises RevisionError if git cannot read
    the revision.
    """
    return [source for path in paths for source in _sources(revision, path)]


def text_at_revision(revision: str, path: Path) -> str | None:
    """The content of the file as it is at the revision. None if git cannot read the revision or the file."""
    try:
        root, path_in_repository = _locate(path)
        return _git(root, "show", f"{_commit(root, revision)}:{path_in_repository}")
    except RevisionError:
        return None


def _sources(revision: str, path: str) -> Iterator[Source]:
    if path == STDIN:
        raise RevisionError("--against needs files, because standard input has no git history")
    root, path_in_repository = _locate(Path(path))
    commit = _commit(root, revision)
    file_list = _git(
        root, "ls-tree", "-r", "-z", "--name-only", "--", commit, *filter(None, [path_in_repository])
    )
    for file in filter(None, file_list.split("\0")):
        relative_path = Path(file).relative_to(path_in_repository)
        if file == path_in_repository or is_manifest_file(str(relative_path)):
            name = path if file == path_in_repository else (Path(path) / relative_path).as_posix()
            yield name, _git(root, "show", f"{commit}:{file}")


def _locate(path: Path) -> tuple[Path, str]:
    """The root of the git repository that contains the path, and the path relative to this root.

    The path does not have to exist. Raises RevisionError if it is not in a git repository.
    """
    absolute_path = path.absolute()
    folder = next(parent for parent in (absolute_path, *absolute_path.parents) if parent.is_dir())
    root = Path(_git(folder, "rev-parse", "--show-toplevel").rstrip("\n"))
    resolved_path = folder.resolve() / absolute_path.relative_to(folder)
    path_in_repository = resolved_path.relative_to(root.resolve()).as_posix()
    return root, "" if path_in_repository == "." else path_in_repository


def _commit(root: Path, revision: str) -> str:
    # Without --end-of-options, git would interpret a revision that starts with a dash as an option.
    return _git(
        root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
    ).strip()


def _git(folder: Path, *arguments: str) -> str:
    process = subprocess.run(
        ["git", *_SAFE_OPTIONS, "-C", str(folder), *arguments],
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if process.returncode:
        problem = process.stderr.decode(errors="replace").strip() or "the clone does not contain the revision"
        raise RevisionError(
            f"git {arguments[0]} failed in {folder}: {problem}; check the value of --against, and fetch the "
            "revision if the clone does not contain it"
        )
    return process.stdout.decode("utf-8", errors="surrogateescape")
