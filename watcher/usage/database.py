"""Opens the SQLite file with the recorded usage, for reading or for writing.

The module `store` reads and writes the content. Each access opens the file again. So if somebody replaces the
file, the next access uses the new file.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

_VERSION: Final = 1
_SCHEMA: Final = Path(__file__).with_name("schema.sql")
_BUSY_S: Final = 10.0


class UsageUnavailable(Exception):
    """The file with the recorded usage cannot be read or written."""


@contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a connection with a write transaction. The transaction is committed when the `with` block ends.

    If the block raises an exception, nothing is written. Creates the file and its schema if they do not
    exist. Raises UsageUnavailable if the file cannot be used.
    """
    with _usage_errors(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Only the owner of the file may read the usage of tenants. SQLite creates its additional files, such
        # as the WAL, with the same mode.
        path.touch(mode=0o600)
        with closing(sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)) as database:
            # With WAL, readers and the writer do not block each other.
            database.execute("PRAGMA journal_mode = WAL")
            # After a power failure, the last records may be missing, but the file is intact.
            database.execute("PRAGMA synchronous = NORMAL")
            database.execute("PRAGMA temp_store = MEMORY")
            database.execute("BEGIN IMMEDIATE")
            if _version(database) == 0:
                for statement in _SCHEMA.read_text(encoding="utf-8").split(";"):
                    database.execute(statement)
                database.execute(f"PRAGMA user_version = {_VERSION}")
            yield database
            database.execute("COMMIT")


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a read-only connection. Raises UsageUnavailable if the file is missing or cannot be read."""
    if not path.exists():
        raise UsageUnavailable(
            f"{path}: nothing is recorded there yet; check the path, or wait for the watcher's first record"
        )
    with _usage_errors(path):
        uri = f"file:{quote(str(path.absolute()))}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=_BUSY_S)) as database:
            if _version(database) == 0:
                raise sqlite3.DatabaseError("the file is not a usage database of the watcher")
            yield database


def _version(database: sqlite3.Connection) -> int:
    ((version,),) = database.execute("PRAGMA user_version")
    if version > _VERSION:
        raise sqlite3.DatabaseError(
            f"a newer version of the watcher wrote the file: the file has schema version {version}, but this "
            f"program supports only schema version {_VERSION}"
        )
    return int(version)


@contextmanager
def _usage_errors(path: Path) -> Iterator[None]:
    """Convert errors of SQLite and of the file system to UsageUnavailable."""
    try:
        yield
    except (sqlite3.OperationalError, OSError) as error:
        raise UsageUnavailable(f"{path}: {error}") from error
    except sqlite3.Error as error:
        advice = "rename this file, so that the watcher creates a new one"
        raise UsageUnavailable(f"{path}: {error}; {advice}") from error
