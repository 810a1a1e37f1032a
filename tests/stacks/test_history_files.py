"""Reads the history from the files of a file backend.

Updates keep their numbers after older updates were pruned.
"""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from stacks.errors import StackError, StackNotFound
from stacks.history import newest_number, updates_from_entries, updates_from_json
from stacks.storage.history_files import file_history

STACK = "tenant-filed"


@pytest.fixture
def backend(tmp_path: Path) -> Path:
    (tmp_path / ".pulumi" / "history" / "tenancy" / STACK).mkdir(parents=True)
    stack = tmp_path / ".pulumi" / "stacks" / "tenancy" / f"{STACK}.json.gz"
    stack.parent.mkdir(parents=True)
    stack.touch()
    return tmp_path


def add(backend: Path, position: int, ending: str = "json", **config: Any) -> Path:
    record = {
        "kind": "update",
        "startTime": 1_780_000_000 + position,
        "endTime": 1_780_000_002 + position,
        "message": f"update {position}",
        "result": "succeeded",
        "config": {"tenancy:secret": {"secure": "v1:x"}, **config},
        "resourceChanges": {"same": 2},
    }
    content = json.dumps(record).encode()
    name = f"{STACK}-17800000000000000{position:02}.history.{ending}"
    file = backend / ".pulumi" / "history" / "tenancy" / STACK / name
    file.write_bytes(gzip.compress(content) if ending.endswith(".gz") else content)
    return file


def test_compressed_and_plain_files_are_one_history(backend: Path) -> None:
    add(backend, 1)
    add(backend, 2, "json.gz")
    add(backend, 3, "json")
    add(backend, 3, "json.attrs")
    updates = updates_from_entries(file_history(f"file://{backend}", STACK) or ())
    assert [(update.version, update.cause) for update in updates] == [
        (3, "update 3"),
        (2, "update 2"),
        (1, "update 1"),
    ]
    assert (updates[0].duration_s, updates[0].counts) == (2.0, {"same": 2})


def test_numbers_continue_from_the_oldest_update(backend: Path) -> None:
    add(backend, 1, "json.gz", **{"tenancy:number": "41"})
    # `pulumi config refresh` can copy this value to later updates.
    add(backend, 2, "json.gz", **{"tenancy:number": "41"})
    updates = updates_from_entries(file_history(f"file://{backend}", STACK) or ())
    assert [update.version for update in updates] == [42, 41]


def test_number_in_the_output_of_the_cli_is_used() -> None:
    entry = {"kind": "update", "startTime": "2026-01-31T12:00:00.000Z", "result": "succeeded"}
    oldest = {**entry, "config": {"tenancy:number": {"value": "7", "secret": False}}}
    assert [update.version for update in updates_from_json(json.dumps([entry, oldest]))] == [8, 7]
    damaged = {**entry, "config": {"tenancy:number": {"value": "-7"}}}
    assert [update.version for update in updates_from_json(json.dumps([entry, damaged]))] == [2, 1]


def test_missing_and_damaged_histories_are_reported(backend: Path) -> None:
    assert file_history(f"file://{backend}", STACK) == []
    assert newest_number([]) == 0
    with pytest.raises(StackNotFound):
        file_history(f"file://{backend}", "tenant-none")
    add(backend, 1).write_text("{")
    with pytest.raises(StackError, match=r"history\.json"):
        file_history(f"file://{backend}", STACK)


def test_other_backends_and_formats_need_the_cli(backend: Path) -> None:
    add(backend, 1, "json.zst")
    assert file_history(f"file://{backend}", STACK) is None
    assert file_history("s3://bucket", STACK) is None
