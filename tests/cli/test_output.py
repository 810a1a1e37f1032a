"""Commands print data literally, even if it looks like markup."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from cli.output import Format, console, print_data, print_table

TRICKY = {"cidr": "2001:db8:a:b::/64", "note": "[bold]not bold[/bold] :key:"}


@pytest.mark.parametrize(("output", "read"), [(Format.JSON, json.loads), (Format.YAML, yaml.safe_load)])
def test_data_comes_out_as_it_went_in(
    output: Format, read: Callable[[str], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    print_data(TRICKY, output)
    assert read(capsys.readouterr().out) == TRICKY


def test_a_table_shows_its_cells_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("CIDR", "NOTE"), [tuple(TRICKY.values())])
    assert capsys.readouterr().out.splitlines()[1].split() == " ".join(TRICKY.values()).split()


def test_a_narrow_terminal_folds_the_longest_column_and_cuts_nothing_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(console, "width", 40)
    print_table(
        ("TYPE", "STATUS", "MESSAGE"), [("Drifted", "False", "Role tenant-a/tenant-admin was deleted")]
    )
    header, first, *rest = capsys.readouterr().out.splitlines()
    assert header.split() == ["TYPE", "STATUS", "MESSAGE"]
    assert first.split()[:2] == ["Drifted", "False"]
    assert " ".join([*first.split()[2:], *" ".join(rest).split()]) == "Role tenant-a/tenant-admin was deleted"
    assert all(len(line) <= 40 for line in (header, first, *rest))
