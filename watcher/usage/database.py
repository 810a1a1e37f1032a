"""The file of the record of use: opened for each look, written all or nothing, and its errors told as ours.

`store` says what is in it. Nothing stays open: whatever becomes of the file meanwhile, the next look sees it.
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
    """The record of use can't be read or written just now. No fault of a tenant's."""


@contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """One transaction: all of it, or nothing."""
    with _told(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Who uses what is nobody else's business on a shared machine. SQLite's other files follow this one.
        path.touch(mode=0o600)
        with closing(sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)) as database:
            # Readers and the writer don't wait for each other.
            database.execute("PRAGMA journal_mode = WAL")
            # After a power cut the last minute may be missing, and nothing is broken.
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
    if not path.exists():
        raise UsageUnavailable(f"{path}: nothing is recorded there yet; the watcher does so each minute")
    with _told(path):
        address = f"file:{quote(str(path.absolute()))}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=_BUSY_S)) as database:
            if _version(database) == 0:
                raise sqlite3.DatabaseError("it is no record of use")
            yield database


def _version(database: sqlite3.Connection) -> int:
    ((version,),) = database.execute("PRAGMA user_version")
    if version > _VERSION:
        raise sqlite3.DatabaseError(
            f"it was written by a newer version of the product (schema {version}, known is {_VERSION})"
        )
    return int(version)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Errors of the file and its disk, as ours."""
    try:
        yield
    except (sqlite3.OperationalError, OSError) as error:
        raise UsageUnavailable(f"{path}: {error}") from error
    except sqlite3.Error as error:
        raise UsageUnavailable(f"{path}: {error}; move it away, and a new record begins") from error
