"""The project as the CLI wants to find it: a folder per operation, with its two settings files.

Writing them ourselves saves the commands that would otherwise write them one value at a time.
"""

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

import yaml

from stacks.errors import StorageFailed
from tenancy.base.names import PROJECT
from tenancy.changes import UpdateRecord

RECORD_KEY: Final = f"{PROJECT}:update"

# The same settings as the `Pulumi.yaml` an operator runs with; a test holds the two together.
PROJECT_SETTINGS: Final[dict[str, Any]] = {
    "name": PROJECT,
    "runtime": "python",
    "config": {
        "kubernetes:enableConfigMapMutable": {"value": True},
        "kubernetes:enableSecretMutable": {"value": True},
    },
}


@contextmanager
def work_folder(
    run_dir: Path, stack: str, salt: str | None, record: UpdateRecord | None = None
) -> Iterator[Path]:
    """A folder for one operation on one stack, gone when it ends. The stack's configuration holds the record:
    that is what every backend keeps with an update."""
    folder = Path(tempfile.mkdtemp(prefix=f"{stack}.", dir=run_dir))
    try:
        (folder / "Pulumi.yaml").write_text(yaml.safe_dump(PROJECT_SETTINGS), encoding="utf-8")
        settings: dict[str, Any] = {"encryptionsalt": salt} if salt is not None else {}
        if record is not None:
            # All in ASCII: the CLI's YAML refuses the pairs by which JSON escapes an emoji outside of a text.
            text = json.dumps(record.model_dump(by_alias=True, mode="json"), separators=(",", ":"))
            settings["config"] = {RECORD_KEY: text}
        if settings:
            (folder / f"Pulumi.{stack}.yaml").write_text(json.dumps(settings), encoding="utf-8")
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def take_run_folder(run_dir: Path) -> IO[str]:
    """Makes the folder ours alone, for as long as the returned file is open."""
    run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    if run_dir.stat().st_uid != os.getuid():
        raise StorageFailed(f"{run_dir} is another user's; give a folder of your own with --run-dir")
    lock = (run_dir / "lock").open("w", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise StorageFailed(
            f"{run_dir} is in use by another watcher; give this one its own --run-dir"
        ) from None
    return lock


def empty_run_folder(run_dir: Path) -> None:
    for entry in run_dir.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)


def quiet_home(run_dir: Path) -> Path:
    """Pulumi's home for our commands: the operator's own, but without the log of every command.

    That log can't be switched off. It costs a tenth of an update's time, and nobody reads it: what goes
    wrong is in the events. Where a file stands in its folder's place, the CLI goes without.
    """
    own = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi")
    home = run_dir / "home"
    home.mkdir()
    (home / "logs").touch()
    for entry in own.iterdir() if own.is_dir() else ():
        if entry.name != "logs":
            (home / entry.name).symlink_to(entry.absolute())
    return home


def salt_in(folder: Path, stack: str) -> str:
    """The salt the CLI has written for a stack made in `folder`."""
    settings = yaml.safe_load((folder / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8"))
    salt: str = settings["encryptionsalt"]
    return salt
