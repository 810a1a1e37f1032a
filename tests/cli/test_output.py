"""Commands print data unchanged, even if the data looks like markup."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from cli.output import Format, GrowingTable, console, print_changes, print_data, print_table
from tenancy.changes import FieldChange, ObjectChange, Operation

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


def test_columns_are_closer_before_a_cell_wraps(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(console, "width", 24)
    print_table(("NAME", "GROUP", "PLAN"), [("acme", "kleff.kleff.io", "pro")])
    assert capsys.readouterr().out.splitlines()[1].split() == ["acme", "kleff.kleff.io", "pro"]


def test_row_of_a_growing_table_does_not_wrap(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(console, "width", 20)
    GrowingTable(("NAME", "MESSAGE")).print([("acme", "a message of several words")])
    assert capsys.readouterr().out.splitlines() == ["NAME   MESSAGE", "acme   a message of several words"]


def test_equal_changes_in_several_namespaces_are_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    def change(kind: str, namespace: str, name: str, cpu: str = "") -> ObjectChange:
        fields = (FieldChange(path="spec.hard.cpu", before="1", after=cpu),) if cpu else ()
        return ObjectChange(
            operation=Operation.UPDATE if cpu else Operation.CREATE,
            kind=kind,
            namespace=namespace,
            name=name,
            fields=fields,
        )

    print_changes(
        [
            change("Namespace", "", "t-a"),
            change("Namespace", "", "t-b"),
            *(change("ResourceQuota", namespace, "quota", "2") for namespace in ("t-a", "t-b")),
            change("ResourceQuota", "t-c", "quota", "3"),
            change("Role", "t-a", "admin"),
            change("Gateway", "", "x"),
            change("Gateway", "", "y"),
        ]
    )
    assert capsys.readouterr().out.splitlines() == [
        "+ Namespace t-a, t-b",
        "~ ResourceQuota t-c/quota",
        "    spec.hard.cpu",
        "      - 1",
        "      + 3",
        "+ Role t-a/admin",
        "+ Gateway x",
        "+ Gateway y",
        "in 2 namespaces: t-a, t-b:",
        "~ ResourceQuota quota",
        "    spec.hard.cpu",
        "      - 1",
        "      + 2",
    ]
