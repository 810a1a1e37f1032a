"""Creates a work folder for each operation. The CLI runs in this folder.

The folder contains the settings files of the project and the stack. This module writes both files directly,
because the CLI would need one command for each value in them.
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

# The key of the update record in the stack's configuration.
RECORD_KEY: Final = f"{PROJECT}:update"
# The key of the changes to the Tenant's spec. They are not part of the update record, because older versions
# of the watcher could not read such a record.
SPEC_CHANGES_KEY: Final = f"{PROJECT}:specChanges"
# The key of the number of an update. Pruning writes this number into the oldest update that it keeps.
NUMBER_KEY: Final = f"{PROJECT}:number"

# Must be equal to the `Pulumi.yaml` in the root folder, which `pulumi up` by hand uses. A test compares them.
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
    """Create a folder for one command on one stack. Remove the folder after the `with` block.

    `record` is written to the stack's settings file in the folder. With each update, Pulumi stores the
    configuration from this file in the stack's history, so the history contains the record.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"{stack}.", dir=run_dir))
    try:
        (folder / "Pulumi.yaml").write_text(yaml.safe_dump(PROJECT_SETTINGS), encoding="utf-8")
        settings: dict[str, Any] = {"encryptionsalt": salt} if salt is not None else {}
        if record is not None:
            settings["config"] = record_config(record)
        if settings:
            (folder / f"Pulumi.{stack}.yaml").write_text(json.dumps(settings), encoding="utf-8")
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def record_config(record: UpdateRecord) -> dict[str, str]:
    """Convert an update record to values for the stack's configuration, by key."""
    changes = [change.model_dump(by_alias=True, mode="json") for change in record.spec_changes]
    values = {
        RECORD_KEY: record.model_dump(by_alias=True, mode="json"),
        **({SPEC_CHANGES_KEY: changes} if changes else {}),
    }
    # The texts are ASCII. Otherwise, the settings file would contain JSON surrogate pairs for characters such
    # as emoji, and the CLI's YAML parser rejects surrogate pairs.
    return {key: json.dumps(value, separators=(",", ":")) for key, value in values.items()}


def lock_run_folder(run_dir: Path) -> IO[str]:
    """Create the folder if it does not exist, and lock it. The lock lasts until the returned file is closed.

    Raises StorageFailed if the folder belongs to another user or is locked by another process.
    """
    run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    if run_dir.stat().st_uid != os.getuid():
        raise StorageFailed(f"{run_dir} belongs to another user; set --run-dir to a folder of your own")
    lock = (run_dir / "lock").open("w", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise StorageFailed(
            f"{run_dir} is in use by another watcher; set --run-dir to another folder"
        ) from None
    return lock


def clear_run_folder(run_dir: Path) -> None:
    """Delete all work folders in `run_dir`."""
    for entry in run_dir.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)


def create_pulumi_home(run_dir: Path) -> Path:
    """Create a PULUMI_HOME folder in which the CLI writes no log files.

    The log files are not needed, because the events of Pulumi's engine contain the errors. Writing the log
    files takes a tenth of the time of an update, and the CLI has no option to disable them. So the folder
    contains an empty file `logs`, which prevents the CLI from creating the folder `logs`. The other entries
    are links to the entries of the original PULUMI_HOME.
    """
    original = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi")
    home = run_dir / "home"
    home.mkdir()
    (home / "logs").touch()
    for entry in original.iterdir() if original.is_dir() else ():
        if entry.name != "logs":
            (home / entry.name).symlink_to(entry.absolute())
    return home


def has_passphrase() -> bool:
    """Whether the environment variables contain a passphrase, or the name of a readable file with it."""
    passphrase_file = os.environ.get("PULUMI_CONFIG_PASSPHRASE_FILE", "")
    return "PULUMI_CONFIG_PASSPHRASE" in os.environ or os.access(passphrase_file, os.R_OK)


def encryption_salt(folder: Path, stack: str) -> str:
    """Read the encryption salt from the stack's settings file in `folder`. The CLI has written this file."""
    settings = yaml.safe_load((folder / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8"))
    salt: str = settings["encryptionsalt"]
    return salt
