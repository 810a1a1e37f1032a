"""The table of `tenancy history` fits in a terminal with 80 columns."""

import pytest

from cli.commands.history import UPDATE_COLUMNS, update_cells
from cli.output import console, print_table
from watcher.history_view import UpdateView


def entry(version: int | None, by: str, result: str, **fields: object) -> UpdateView:
    values = {
        "operation": "update",
        "cause": "spec generation 12",
        "started": "2026-01-31T12:00:00Z",
        "duration_s": 2.0,
        "counts": {"create": 56, "update": 15, "delete": 2, "release": 1},
        **fields,
    }
    return UpdateView.model_validate({"version": version, "by": by, "result": result, **values})


def test_long_authors_messages_and_reasons_wrap(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(console, "width", 80)
    monkeypatch.setattr(console, "_force_terminal", True)
    author = "ann (according to the commit), applied via manager kubectl-edit"
    entries = [
        entry(1234, author, "succeeded", message="more CPU\nand a second line"),
        entry(None, "alice", "rejected", reason="NamespaceTaken", operation="none", counts={}),
        entry(7, "", "succeeded", cause="drift: Role tenant-a/tenant-viewer deleted and 12 more", spec={}),
    ]
    print_table(UPDATE_COLUMNS, map(update_cells, entries))
    output = capsys.readouterr().out
    assert all(len(line) <= 80 for line in output.splitlines()), output
    words = output.split()
    for text in ("+56", "~15", "-2", "^1", "kubectl-edit", "NamespaceTaken", "CPU", "ago"):
        assert text in words, output
    assert "second" not in words
