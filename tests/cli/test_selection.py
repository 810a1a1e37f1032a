"""The arguments that select manifests and tenants, and tables that print one row at a time."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from cli.listing.formats import ListFormat, row_stream
from cli.output import GrowingTable
from cli.selection.manifest_paths import given_paths
from cli.selection.tenants import (
    UnknownResource,
    check_not_both,
    check_selection,
    resource_and_name,
    resources_named,
)
from tenancy.base.kinds import TENANTS
from tests.cli.applying import write
from tests.commandline import run_tenancy
from tests.platform import ROOT, tenant_manifest
from watcher.view import tenant_row

_PLATFORM, _KLEFF = TENANTS


def test_paths_come_from_arguments_and_from_the_option() -> None:
    assert given_paths(["a"], ["b", "-"]) == ["a", "b", "-"]
    assert given_paths(None, ["b"]) == ["b"]
    with pytest.raises(typer.BadParameter, match="at least one file or folder"):
        given_paths(None, None)


def test_a_name_stands_for_both_groups_and_a_full_name_for_one() -> None:
    assert resources_named("research") == [(_PLATFORM, "research"), (_KLEFF, "research")]
    for text in ("tenant.kleff.kleff.io/research", "tenants.kleff.kleff.io/research"):
        assert resources_named(text) == [(_KLEFF, "research")]
    assert resources_named(resource_and_name("platform.ai/v1", "a")) == [(_PLATFORM, "a")]
    with pytest.raises(UnknownResource, match=r"'pod/research': .* must be tenant\.platform\.ai or "):
        resources_named("pod/research")


def test_tenants_are_selected_by_name_or_by_label_but_not_by_both() -> None:
    check_selection(["a"], "")
    check_selection(None, "team=a")
    check_not_both(None, "")
    with pytest.raises(typer.BadParameter, match="name of a tenant, or a label selector"):
        check_selection(None, "")
    with pytest.raises(typer.BadParameter, match="cannot be combined"):
        check_selection(["a"], "team=a")


def test_growing_table_prints_its_header_once_and_keeps_its_columns(
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = GrowingTable(("NAME", "PHASE"))
    table.print([("research", "Active"), ("b", "Failed")])
    table.print([("c", "Active")])
    table.print([("longer-than-research", "Gone")])
    assert capsys.readouterr().out.splitlines() == [
        "NAME       PHASE",
        "research   Active",
        "b          Failed",
        "c          Active",
        "longer-than-research   Gone",
    ]


def test_stream_of_rows_has_one_document_per_row(capsys: pytest.CaptureFixture[str]) -> None:
    manifest = tenant_manifest("a", plan="pro")
    manifest["metadata"] |= {"creationTimestamp": "2026-01-31T12:00:00Z", "generation": 1}
    row = tenant_row(manifest, {})
    for output, parsed in ((ListFormat.JSON, json_documents), (ListFormat.YAML, yaml.safe_load_all)):
        print_rows, content = row_stream(output, {})
        print_rows([row])
        print_rows([row.model_copy(update={"phase": "Gone"})])
        documents = list(parsed(capsys.readouterr().out))
        assert [document["phase"] for document in documents] == ["Pending", "Gone"]
        assert documents[0] == content(row)


def json_documents(text: str) -> Iterator[Any]:
    while text := text.lstrip():
        document, end = json.JSONDecoder().raw_decode(text)
        yield document
        text = text[end:]


@pytest.mark.parametrize("command", [("preview", "--offline"), ("validate",)])
@pytest.mark.parametrize("is_folder", [True, False])
def test_option_f_reads_the_same_manifests_as_the_argument(
    command: tuple[str, ...], is_folder: bool, tmp_path: Path
) -> None:
    file = write(tmp_path / "tenant.yaml", tenant_manifest("same"), tenant_manifest("other", plan="pro"))
    path = str(tmp_path) if is_folder else file
    environment = {**os.environ, "KUBECONFIG": "/nowhere"}
    by_argument, by_option, by_stdin = (
        run_tenancy(*command, *arguments, environment=environment, input=Path(file).read_text())
        for arguments in ((path,), ("-f", path), ("-f", "-"))
    )
    assert by_argument.stdout
    assert (by_option.returncode, by_option.stdout) == (by_argument.returncode, by_argument.stdout)
    assert (by_stdin.returncode, by_stdin.stdout) == (by_argument.returncode, by_argument.stdout)


def test_validate_needs_no_cluster_and_its_exit_code_says_whether_manifests_are_valid(tmp_path: Path) -> None:
    def validate(*arguments: str) -> tuple[int, str, str]:
        result = run_tenancy("validate", *arguments, environment={**os.environ, "KUBECONFIG": "/nowhere"})
        return result.returncode, result.stdout, result.stderr

    valid = write(tmp_path / "valid.yaml", tenant_manifest("a"), tenant_manifest("b"))
    assert validate(valid) == (0, "2 Tenants are valid.\n", "")

    invalid = write(tmp_path / "invalid.yaml", tenant_manifest("c", quotaScope="Planet"))
    code, output, error = validate("-f", valid, "-f", invalid)
    assert (code, output) == (1, "")
    assert f"{invalid}:6: " in error
    assert "spec.quotaScope" in error

    planless = write(tmp_path / "planless.yaml", tenant_manifest("d", plan="none-such"))
    assert validate(planless) == (0, "1 Tenant is valid.\n", "")
    code, output, error = validate(planless, "--plans", str(ROOT / "tenancy" / "plans.yaml"))
    assert (code, output) == (1, "")
    assert f"{planless}:6: spec.plan: there is no plan 'none-such'" in error

    empty = write(tmp_path / "empty.yaml", {"kind": "ConfigMap", "apiVersion": "v1"})
    assert validate(empty)[0] == 1
    assert "found no Tenant" in validate(empty)[2]
    assert validate()[0] == 1
