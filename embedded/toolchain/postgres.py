"""Finds the PostgreSQL server for the tests of the state backends. Installs PostgreSQL if it is missing."""

import shutil
from pathlib import Path

from embedded.cache import cache_folder, locked
from embedded.errors import SetupFailed
from embedded.toolchain.apt import install_with_apt

_DEBIAN_FOLDER = Path("/usr/lib/postgresql")


def ensure_postgres() -> Path:
    """The folder of the programs `postgres`, `initdb` and `pg_dump`. Raises SetupFailed if it is missing."""
    with locked(cache_folder() / "postgres"):
        folder = _present_folder()
        if folder is None and install_with_apt("postgresql"):
            folder = _present_folder()
    if folder is None:
        raise SetupFailed(
            "The tests of the PostgreSQL backend need PostgreSQL, but ./dev could not install it. Install "
            "PostgreSQL, and put its programs postgres, initdb and pg_dump on PATH."
        )
    return folder


def _present_folder() -> Path | None:
    on_path = shutil.which("initdb")
    folders = [Path(on_path).resolve().parent] if on_path else []
    folders += sorted(_DEBIAN_FOLDER.glob("*/bin"), reverse=True)
    names = ("postgres", "initdb", "pg_dump")
    return next((folder for folder in folders if all((folder / name).exists() for name in names)), None)
