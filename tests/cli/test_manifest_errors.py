"""Errors outside the spec, such as wrong kinds and repeated keys, are reported with their field and line."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.manifests.object_fields import object_problems
from cli.manifests.read import read_manifests
from cli.preview.manifest_checks import findings_text, manifest_findings
from cluster.errors import ClusterError
from tenancy.base.names import DNS_LABEL_TEXT
from tenancy.base.patterns import LABEL_VALUE_PATTERN, PATTERN_TEXTS
from tests.commandline import run_tenancy
from tests.platform import Platform

VALID = "apiVersion: platform.ai/v1\nkind: Tenant\nmetadata: {name: fine}\n"
NAME_TEXT = (
    "must have 1 to 63 letters, digits, dashes, underscores and dots, with a letter or digit at both ends"
)
WRONG_VERSION = "but a Tenant must have platform.ai/v1 or kleff.kleff.io/v1"


def errors(folder: Path, text: str, name: str = "a.yaml") -> list[str]:
    """The errors in a file with this text. The path of the file is removed from the errors."""
    (folder / name).write_text(text)
    found = findings_text(manifest_findings(read_manifests([folder / name])))
    return [line.removeprefix(f"{(folder / name).as_posix()}:") for line in found.splitlines()]


def test_errors_inside_and_outside_the_spec_are_reported_together(tmp_path: Path) -> None:
    text = """\
apiVersion: platform.ai/v1
kind: Tenant
metadata:
  name: fine
  lables: {team: a}
  labels:
    team: no spaces
    example.com/Pool_1: b
    number: 1
    -dash: c
  annotations:
    Example.com/Case: d
    flag: true
  finalizers: [a b]
spec:
  plan: Pro
sepc: {}
"""
    label = PATTERN_TEXTS[LABEL_VALUE_PATTERN]
    assert errors(tmp_path, text) == [
        "5: metadata.lables: there is no such field here",
        f"7: metadata.labels.team: the value 'no spaces' must {label}",
        "9: metadata.labels.number: must be a string, not 1",
        f"10: metadata.labels.-dash: the name {NAME_TEXT}",
        "13: metadata.annotations.flag: must be a string, not true",
        f"14: metadata.finalizers[0]: the name {NAME_TEXT}",
        f"16: spec.plan: the value 'Pro' must have only {DNS_LABEL_TEXT}",
        "17: sepc: there is no such field here",
    ]


def test_tenant_with_a_wrong_name_and_version_reports_its_other_errors_too(tmp_path: Path) -> None:
    metadata = "metadata:\n  name: A\n  lables: {}\n"
    text = f"apiVersion: platform.ai/v2\nkind: Tenant\n{metadata}spec:\n  paused: maybe\n"
    assert [line.partition(": ")[0] for line in errors(tmp_path, text)] == ["1", "4", "5", "7"]


def test_only_camel_case_names_of_fields_are_valid(tmp_path: Path) -> None:
    assert errors(tmp_path, f"{VALID}spec:\n  display_name: x\n") == [
        "5: spec.display_name: there is no such field here"
    ]


@pytest.mark.parametrize(
    ("api_version", "kind", "problem"),
    [
        ("platform.ai/v1", "Tennant", "2: kind: is 'Tennant', but must be Tenant or AISession"),
        ("platform.ai/v1", "Plan", "2: kind: is 'Plan', but must be Tenant or AISession"),
        ("kleff.kleff.io/v1", "tenant", "2: kind: is 'tenant', but must be Tenant"),
        ("platform.ai/v1", "", "2: kind: is missing, but must be Tenant or AISession"),
        *(
            (
                version,
                "Tenant",
                f"1: apiVersion: is {repr(version) if version else 'missing'}, {WRONG_VERSION}",
            )
            for version in ("platfrom.ai/v1", "platform.ai/v1beta1", "kleff.io/v1", "v1", "")
        ),
    ],
)
def test_mistyped_tenant_is_an_error(tmp_path: Path, api_version: str, kind: str, problem: str) -> None:
    text = f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: fine}}\n"
    assert errors(tmp_path, text) == [problem]
    # The same error in an item of a List.
    item = {"apiVersion": api_version or None, "kind": kind or None, "metadata": {"name": "fine"}}
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": [item]})
    assert errors(tmp_path, listed, "a.json") == [problem.replace("2:", "1:", 1)]


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("platform.ai/v1", "AISession"),
        ("capsule.clastix.io/v1beta2", "Tenant"),
        ("minio.min.io/v2", "Tenant"),
        ("v1", "ConfigMap"),
    ],
)
def test_other_kinds_are_skipped(tmp_path: Path, api_version: str, kind: str) -> None:
    (tmp_path / "a.yaml").write_text(
        f"{VALID}---\napiVersion: {api_version}\nkind: {kind}\ndata: {{a: 1, a: 2}}\n"
    )
    manifests = read_manifests([tmp_path])
    assert ([tenant.name for tenant in manifests.tenants], manifests.faults, manifests.others) == (
        ["fine"],
        (),
        1,
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"{VALID}spec:\n  plan: basic\n  plan: pro\n",
            ["6: spec.plan: the key is repeated; it is also in line 5"],
        ),
        (
            f"{VALID}spec:\n  namespaces:\n    - {{name: a, name: b}}\nspec: {{}}\n",
            ["7: spec: the key is repeated; it is also in line 4"],
        ),
        (
            f"{VALID}spec:\n  access:\n    - kind: User\n      name: a\n      name: b\n      name: c\n",
            ["9: spec.access[0].name: the key is repeated; it is also in line 7, 8"],
        ),
        (
            f"{VALID}apiVersion: v1\nkind: ConfigMap\n",
            [
                "4: apiVersion: the key is repeated; it is also in line 1",
                "5: kind: the key is repeated; it is also in line 2",
            ],
        ),
        (f"kind: Pod\n{VALID}", ["3: kind: the key is repeated; it is also in line 1"]),
        (
            "apiVersion: v1\nkind: List\nitems: [{}]\nitems: []\n",
            ["4: items: the key is repeated; it is also in line 3"],
        ),
        # A key that YAML merges from another mapping is not a repeated key.
        (f"x: &a {{plan: basic}}\n---\n{VALID}spec:\n  <<: {{plan: basic}}\n  plan: pro\n", []),
    ],
)
def test_repeated_key_is_an_error(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert errors(tmp_path, text) == [f"{line}; keep only one of them" for line in expected]


def test_repeated_key_in_json_is_an_error(tmp_path: Path) -> None:
    text = '{"apiVersion": "platform.ai/v1", "kind": "Tenant",\n"metadata": {"name": "a",\n"name": "b"}}'
    assert errors(tmp_path, text, "a.json") == [
        "3: metadata.name: the key is repeated; it is also in line 2; keep only one of them"
    ]


@pytest.mark.parametrize(
    ("command", "prefix"),
    [(("validate",), "error: "), (("preview", "--offline"), "error: "), (("apply",), ""), (("delete",), "")],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_missing_path_does_not_hide_the_errors_of_other_files(
    tmp_path: Path, command: tuple[str, ...], prefix: str
) -> None:
    (tmp_path / "a.yaml").write_text(
        f"{VALID}spec: {{plan: Pro}}\n---\nkind: Tennant\napiVersion: platform.ai/v1\n"
    )
    result: subprocess.CompletedProcess[str] = run_tenancy(
        *command, "-f", "a.yaml", "-f", "none.yaml", cwd=tmp_path, environment={"KUBECONFIG": "/nowhere"}
    )
    assert result.returncode == 1
    output = result.stdout + result.stderr
    assert f"{prefix}none.yaml: there is no such file or folder" in output
    assert f"{prefix}a.yaml:6: kind: is 'Tennant'" in output
    # `tenancy delete` reads only the names, so it does not report the error in the spec.
    assert (f"{prefix}a.yaml:4: spec.plan: " in output) is (command != ("delete",))


def test_repeated_name_is_not_deleted(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(VALID.replace("name: fine", "name: fine, name: other"))
    result = run_tenancy(
        "delete", "--yes", "-f", "a.yaml", cwd=tmp_path, environment={"KUBECONFIG": "/nowhere"}
    )
    assert result.returncode == 1
    assert result.stderr.startswith("error: a.yaml:3: metadata.name: the key is repeated")


def test_repeated_name_does_not_hide_the_errors_of_the_spec(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"{VALID}---\n{VALID}spec: {{plan: gold}}\n")
    result = run_tenancy(
        "preview", "--offline", "a.yaml", cwd=tmp_path, environment={"KUBECONFIG": "/nowhere"}
    )
    assert "a.yaml:7: metadata.name: the Tenant 'fine' is also in a.yaml:1" in result.stdout
    assert "a.yaml:8: spec.plan: there is no plan 'gold'" in result.stdout


def _metadata(**fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": "object-fields", **fields}}


@pytest.mark.parametrize(
    "fields",
    [
        {"unknown": 1},
        _metadata(unknown=1),
        _metadata(labels=[]),
        _metadata(labels={"a": None}),
        _metadata(annotations={"a": None}),
        _metadata(finalizers="a"),
        _metadata(ownerReferences=[{"apiVersion": "v1", "kind": "ConfigMap", "name": "a"}]),
        _metadata(ownerReferences=[{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": ""}]),
        _metadata(namespace="somewhere"),
        _metadata(generateName="a-"),
        _metadata(labels=None, annotations=None, finalizers=None),
        *(
            _metadata(labels={key: ""})
            for key in ("a b", "a" * 64, "a/" * 2, "A.b/c", f"{'a' * 254}/b", "example.com/B_.c", "-", "")
        ),
        *(_metadata(labels={"a": value}) for value in ("", "-", "a" * 63, "a" * 64, "a b", "é", 1, True)),
        *(_metadata(annotations={key: "any: value"}) for key in ("A.b/C", "a b", "a" * 64, "a/b/c")),
        _metadata(annotations={"a": "x" * 262_143}),
        _metadata(annotations={"a": "x" * 262_144}),
        *(_metadata(finalizers=[name]) for name in ("example.com/a", "a b", "A.b/c")),
    ],
    ids=lambda fields: json.dumps(fields)[:60],
)
def test_checks_agree_with_the_api_server(platform: Platform, fields: dict[str, Any]) -> None:
    tenant = {"apiVersion": "platform.ai/v1", "kind": "Tenant", **_metadata(), "spec": {}, **fields}
    send: Callable[..., Any] = platform.admin.apply
    try:
        send(tenant, is_dry_run=True)
        is_accepted, answer = True, ""
    except ClusterError as error:
        is_accepted, answer = False, str(error)
    assert (object_problems(tenant) == []) is is_accepted, answer
