"""Manifests and plans as they stood at a git revision. Only reads, by the git command.

Needs the history that the revision is in: a shallow clone may not have it.
"""

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from cli.manifests import STDIN, Source, is_manifest_file
from tenancy.base.errors import TenancyError

# A pull request can bring files that look like a repository without a work tree, whose settings then name
# commands to run: git is to pass over those.
_SAFE: Final = ("-c", "safe.bareRepository=explicit")


class RevisionError(TenancyError):
    """git can't tell how things stood."""

    reason = "NoRevision"


def sources_at_revision(revision: str, paths: Sequence[str]) -> list[Source]:
    """The files below these paths at the revision, each under the name it would have today."""
    return [source for path in paths for source in _sources(revision, path)]


def text_at_revision(revision: str, path: Path) -> str | None:
    """A file's content at the revision; None where it is not in a repository, or was not there."""
    try:
        root, inside = _place(path)
        return _git(root, "show", f"{_commit(root, revision)}:{inside}")
    except RevisionError:
        return None


def _sources(revision: str, path: str) -> Iterator[Source]:
    if path == STDIN:
        raise RevisionError("--against needs files: standard input has no history")
    root, inside = _place(Path(path))
    commit = _commit(root, revision)
    listed = _git(root, "ls-tree", "-r", "-z", "--name-only", "--", commit, *filter(None, [inside]))
    for name in filter(None, listed.split("\0")):
        below = Path(name).relative_to(inside)
        if name == inside or is_manifest_file(str(below)):
            shown = path if name == inside else (Path(path) / below).as_posix()
            yield shown, _git(root, "show", f"{commit}:{name}")


def _place(path: Path) -> tuple[Path, str]:
    """The repository's root, and where the path is in it. The path itself may be gone by now."""
    whole = path.absolute()
    home = next(parent for parent in (whole, *whole.parents) if parent.is_dir())
    root = Path(_git(home, "rev-parse", "--show-toplevel").rstrip("\n"))
    inside = (home.resolve() / whole.relative_to(home)).relative_to(root.resolve()).as_posix()
    return root, "" if inside == "." else inside


def _commit(root: Path, revision: str) -> str:
    # What begins with a dash would be an option.
    return _git(
        root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
    ).strip()


def _git(folder: Path, *arguments: str) -> str:
    told = subprocess.run(
        ["git", *_SAFE, "-C", str(folder), *arguments],
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if told.returncode:
        problem = told.stderr.decode(errors="replace").strip() or "there is no such revision here"
        raise RevisionError(
            f"git {arguments[0]} failed in {folder}: {problem}; fetch the history that --against names"
        )
    return told.stdout.decode("utf-8", errors="surrogateescape")
