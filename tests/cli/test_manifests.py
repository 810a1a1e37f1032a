"""`tenancy` reads Tenant manifests from files, folders and Lists."""

import json
from pathlib import Path

import pytest

from cli.manifests.read import read_manifests
from cli.preview.manifest_checks import findings_text, manifest_findings
from tenancy.base.names import DNS_LABEL_TEXT
from tenancy.base.patterns import LABEL_VALUE_PATTERN, PATTERN_TEXTS

_TWO = """\
# A comment comes first.
apiVersion: platform.ai/v1
kind: Tenant
metadata:
  name: one
spec:
  plan: pro
  userId: 2026-01-31
  namespaces:
    - name: dev
    - name: prod
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
---
apiVersion: kleff.kleff.io/v1
kind: Tenant
metadata: {name: two}
"""


def _bomb(form: str) -> str:
    """A few lines of YAML whose aliases expand to a billion values."""
    lines = [f"a{n}: &a{n} {form.format(', '.join([f'*a{n - 1}'] * 10))}" for n in range(1, 10)]
    return "\n".join(["a0: &a0 {k: v}", *lines, "kind: Tenant", "apiVersion: *a9", ""])


def test_each_tenant_knows_its_file_and_line_and_those_of_its_fields(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    file = tmp_path / "deep" / "er" / "two.yml"
    file.write_text(_TWO)
    one, two = read_manifests([tmp_path]).tenants
    assert (one.name, one.file, one.line) == ("one", file.as_posix(), 2)
    assert (two.name, two.line) == ("two", 17)
    assert one.line_of("spec.namespaces[1].name") == 11
    assert one.line_of("spec.plan") == 7
    assert one.line_of("spec.quotas", "spec.plan") == 7
    assert one.line_of("spec.network.egress[3]") == 6
    assert two.line_of("spec.plan") == 17


def test_a_date_stays_the_text_it_is(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(_TWO)
    assert read_manifests([tmp_path]).tenants[0].manifest["spec"]["userId"] == "2026-01-31"


def test_json_with_tabs_and_lists_are_read_too(tmp_path: Path) -> None:
    tenant = {"apiVersion": "platform.ai/v1", "kind": "Tenant", "metadata": {"name": "fox"}}
    spec = {"displayName": "🦊"}
    listed = {"apiVersion": "v1", "kind": "List", "items": [{"kind": "Secret"}, {**tenant, "spec": spec}]}
    (tmp_path / "all.json").write_text(json.dumps(listed, indent="\t"))
    (fox,) = read_manifests([tmp_path / "all.json"]).tenants
    assert fox.manifest["spec"] == spec
    assert fox.line_of("spec.displayName") == 15


def test_what_is_no_tenant_of_ours_is_only_counted(tmp_path: Path) -> None:
    (tmp_path / "plans.yaml").write_text("plans: {}\n")
    (tmp_path / "theirs.yaml").write_text("apiVersion: capsule.clastix.io/v1beta2\nkind: Tenant\n")
    (tmp_path / "README.md").write_text("kind: Tenant")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "broken.yaml").write_text("{")
    manifests = read_manifests([tmp_path])
    assert (manifests.tenants, manifests.faults, manifests.others) == ((), (), 2)


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a: 1\nb: [\n", 3, "not YAML"),
        (
            "apiVersion: platform.ai/v2\nkind: Tenant\nmetadata: {name: x}\n",
            1,
            "apiVersion: is 'platform.ai/v2'",
        ),
        ("apiVersion: platform.ai/v1\nkind: Tenant\nmetadata:\n  name: A b\n", 4, "metadata.name: is 'A b'"),
        ("kind: Tenant\napiVersion: platform.ai/v1\n", 1, "metadata.name: is required"),
        ("a: \x00\n", 1, "can't be read"),
        ("[" * 1500, 1, "can't be read"),
        (_bomb("[{}]"), 1, "the YAML aliases here expand to too many values"),
        (_bomb("{{<<: [{}]}}"), 1, "the YAML aliases here expand to too many values"),
        (
            "kind: Tenant\nspec: &s\n  access: [*s]\n",
            1,
            "the YAML aliases here expand to too many values",
        ),
    ],
)
def test_a_fault_names_file_and_line_and_the_others_are_read(
    tmp_path: Path, text: str, line: int, problem: str
) -> None:
    (tmp_path / "a.yaml").write_text(text)
    (tmp_path / "b.yaml").write_text(_TWO)
    manifests = read_manifests([tmp_path])
    assert [tenant.name for tenant in manifests.tenants] == ["one", "two"]
    (fault,) = manifests.faults
    assert (Path(fault.file).name, fault.line) == ("a.yaml", line)
    assert fault.problem.startswith(problem)
    assert f"a.yaml:{line}: {problem}" in findings_text(manifest_findings(manifests))


def test_all_errors_of_all_files_are_reported_at_once_with_field_and_line(tmp_path: Path) -> None:
    head = "apiVersion: platform.ai/v1\nkind: Tenant\nmetadata:\n  name: "
    selector = "  nodeSelector:\n    pool: a\n    example.com/pool: no label\n"
    (tmp_path / "a.yaml").write_text(f"{head}one\nspec:\n  plan: Pro\n  paused: maybe\n{selector}")
    (tmp_path / "b.yaml").write_text(f"{head}{'t' * 71}\n---\n{head}one\n")
    (tmp_path / "c.yaml").write_text("kind: [\n")
    text = findings_text(manifest_findings(read_manifests([tmp_path])))
    label_value, advice = PATTERN_TEXTS[LABEL_VALUE_PATTERN], "remove or rename one of the two Tenants"
    lines = [line.removeprefix(f"{tmp_path.as_posix()}/") for line in text.splitlines()]
    assert [line.rpartition(", because")[0] or line for line in lines] == [
        "a.yaml:6: spec.plan: the value 'Pro' must have only " + DNS_LABEL_TEXT,
        "a.yaml:7: spec.paused: must be true or false, not 'maybe'",
        "a.yaml:10: spec.nodeSelector.example.com/pool: the value 'no label' must " + label_value,
        "b.yaml:4: metadata.name: has 71 characters, but must have at most 56 characters",
        f"b.yaml:9: metadata.name: the Tenant 'one' is also in {tmp_path.as_posix()}/a.yaml:1; " + advice,
        "c.yaml:2: not YAML: expected the node content, but found '<stream end>'",
    ]
