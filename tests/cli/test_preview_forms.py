"""The output formats of a preview: table, JSON, SARIF and Markdown, on standard output or in a file."""

import json

from cli.preview.findings.finding import Rule
from cli.preview.formats.markdown import LIMIT, MARKER
from tests.cli.previews import Previews, offline_fixture  # noqa: F401 - fixtures
from tests.platform import tenant_manifest

_ESCAPE = "\x1b[31mred"


def test_the_table_has_no_colours_in_a_pipe_and_obeys_no_manifest(offline_previews: Previews) -> None:
    offline_previews.write("plain")
    offline_previews.write("sick", plan=_ESCAPE)
    result = offline_previews.run("preview", "tenants", "--offline")
    assert result.returncode == 1
    assert "\x1b" not in result.stdout
    assert "+ Namespace tenant-plain" in result.stdout
    assert "error: tenants/sick.yaml:6: spec.plan: the value '" in result.stdout
    assert "at both ends [invalid-spec]" in result.stdout
    last = result.stdout.splitlines()[-1]
    assert last.startswith("1 tenant is new, 1 has an error (compared with nothing")


def test_a_file_gets_the_preview_and_standard_output_the_sum(offline_previews: Previews) -> None:
    offline_previews.write("filed")
    for form in ("table", "markdown", "json", "sarif"):
        file = offline_previews.folder / f"preview.{form}"
        arguments = ("preview", "tenants", "--offline", "--output", form)
        result = offline_previews.run(*arguments, "--output-file", str(file))
        assert (result.returncode, result.stdout) == (2, "1 tenant is new\n")
        assert file.read_text() == offline_previews.run(*arguments).stdout


def test_json_has_a_version_and_every_change(offline_previews: Previews) -> None:
    manifest = json.dumps(tenant_manifest("piped", displayName="Piped"))
    others = json.dumps({"apiVersion": "v1", "kind": "ConfigMap"})
    preview = offline_previews.json("-", "--offline", input=f"{manifest}\n---\n{others}\n")
    assert preview["formatVersion"] == 1
    assert preview["counts"] == {"new": 1, "changed": 0, "deleted": 0, "unchanged": 0, "invalid": 0}
    assert preview["otherDocuments"] == 1
    (tenant,) = preview["tenants"]
    assert (tenant["name"], tenant["displayName"], tenant["file"], tenant["line"]) == (
        "piped",
        "Piped",
        "-",
        1,
    )
    assert len(tenant["changes"]) == len(tenant["newObjects"])


def test_sarif_has_a_result_with_a_place_for_every_finding(offline_previews: Previews) -> None:
    offline_previews.write("first", plan="none-such")
    offline_previews.write("torn apart", "kind: [Tenant\n")
    result = offline_previews.run("preview", "tenants", "--offline", "--output", "sarif")
    assert result.returncode == 1
    document = json.loads(result.stdout)
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    known = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert known == [rule.value for rule in Rule]
    results = [
        (
            result["ruleId"],
            known[result["ruleIndex"]],
            result["level"],
            result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            result["locations"][0]["physicalLocation"]["region"]["startLine"],
        )
        for result in run["results"]
    ]
    assert results == [
        ("invalid-manifest", "invalid-manifest", "error", "tenants/torn%20apart.yaml", 2),
        ("unknown-plan", "unknown-plan", "error", "tenants/first.yaml", 6),
    ]


def test_markdown_stays_below_the_limit_and_names_what_is_left_out(offline_previews: Previews) -> None:
    for number in range(60):
        offline_previews.write(f"many-{number:02}", displayName="|" * 200)
    result = offline_previews.run("preview", "tenants", "--offline", "--output", "markdown")
    assert result.stdout.startswith(MARKER)
    assert len(result.stdout) <= LIMIT
    assert "60 tenants are new" in result.stdout
    assert "Omitted to keep the comment short: the details of many-" in result.stdout
    assert result.stdout.count("<details>") == result.stdout.count("</details>")


def test_offline_needs_no_cluster_and_takes_a_plans_file(offline_previews: Previews) -> None:
    offline_previews.write("lone", plan="tiny")
    plans = offline_previews.folder / "plans.yaml"
    plans.write_text("plans:\n  tiny: {maxNamespaces: 1, quotas: [{name: q, hard: {pods: 1}}], limits: {}}\n")
    assert offline_previews.json("tenants", "--offline", "--plans", "plans.yaml")["counts"]["new"] == 1
    assert "known: basic" in offline_previews.run("preview", "tenants", "--offline").stdout
    refused = offline_previews.run("preview", "tenants", "--offline", "--against", "HEAD")
    assert (refused.returncode, refused.stdout) == (1, "")


def test_a_path_that_is_not_there_is_an_error(offline_previews: Previews) -> None:
    result = offline_previews.run("preview", "nowhere", "--offline")
    assert result.returncode == 1
    assert "error: nowhere: there is no such file or folder [invalid-manifest]" in result.stdout


def test_a_folder_without_tenants_is_an_error(offline_previews: Previews) -> None:
    offline_previews.write("other", text="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n")
    result = offline_previews.run("preview", "tenants", "--offline")
    assert (result.returncode, result.stdout) == (1, "")
    assert "found no Tenant in the given paths" in result.stderr
