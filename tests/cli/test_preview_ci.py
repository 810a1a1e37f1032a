"""The CI examples in the docs. The tests run their scripts on a folder of manifests, as a CI system would."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.preview.formats.markdown import MARKER
from tests.cli.previews import Previews, offline_fixture, previews_fixture  # noqa: F401 - fixtures
from tests.platform import ROOT

_CI = ROOT / "examples" / "ci"
# Replacements for commands that the scripts call. They write their arguments to the file `calls`.
_GH = """#!/bin/sh
echo "$@" >> calls
case "$*" in *--paginate*) printf "%s\\n" "$KNOWN" ;; esac
"""
_CURL = """#!/bin/sh
echo "$@" >> calls
case "$*" in *per_page*) printf "%s\\n" "$KNOWN" ;; esac
"""


def github_steps() -> dict[str, Any]:
    workflow = yaml.safe_load((_CI / "github.yaml").read_text())
    return {step["name"]: step for step in workflow["jobs"]["preview"]["steps"] if "name" in step}


def gitlab_script() -> list[str]:
    script: list[str] = yaml.safe_load((_CI / "gitlab.yml").read_text())["tenants"]["script"]
    return script


def run_script(previews: Previews, script: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run a script as GitHub and GitLab do: the script ends at the first command that fails."""
    tools = previews.folder.parent / "bin"
    tools.mkdir(exist_ok=True)
    command = f'#!/bin/sh\nexec env PYTHONPATH="{ROOT}" "{sys.executable}" -m cli.main "$@"\n'
    for name, text in (("tenancy", command), ("gh", _GH), ("curl", _CURL)):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        cwd=previews.folder,
        env={
            **previews.environment,
            "PATH": f"{tools}:{previews.environment['PATH']}",
            "BASE": "main",
            "GITHUB_OUTPUT": str(previews.folder.parent / "output"),
            "GITHUB_STEP_SUMMARY": str(previews.folder.parent / "summary"),
            "RUNNER_TEMP": str(previews.folder.parent),
            "TENANCY_KUBECONFIG": "",
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def github_verdict(previews: Previews, steps: dict[str, Any]) -> int:
    """The exit code of the step that can fail the job, or 0 if the condition of this step is false."""
    name, _, value = (previews.folder.parent / "output").read_text().strip().partition("=")
    step = steps["Fail on errors"]
    condition = re.fullmatch(r"steps\.(\w+)\.outputs\.(\w+) == '(\w+)'", step["if"])
    assert condition is not None
    assert condition.group(1, 2) == (steps["Preview"]["id"], name)
    return run_script(previews, step["run"]).returncode if condition[3] == value else 0


def with_a_change(previews: Previews) -> None:
    previews.write("in-review")
    previews.commit()
    previews.git("update-ref", "refs/remotes/origin/main", "HEAD")
    previews.write("in-review", plan="pro")


def test_github_previews_against_the_base_branch_where_there_is_no_cluster(
    offline_previews: Previews,
) -> None:
    with_a_change(offline_previews)
    result = run_script(offline_previews, github_steps()["Preview"]["run"])
    assert result.returncode == 0, result.stderr
    assert (offline_previews.folder.parent / "output").read_text() == "code=2\n"
    assert github_verdict(offline_previews, github_steps()) == 0
    comment = (offline_previews.folder / "preview.md").read_text()
    assert comment.startswith(MARKER)
    assert "Compared with revision origin/main" in comment
    assert (offline_previews.folder.parent / "summary").read_text() == comment
    assert json.loads((offline_previews.folder / "preview.sarif").read_text())["version"] == "2.1.0"


def test_github_previews_against_the_cluster_where_there_is_one(previews: Previews) -> None:
    previews.write("in-review")
    previews.write("in-error", plan="none-such")
    kubeconfig = Path(previews.environment["KUBECONFIG"]).read_text()
    result = run_script(previews, github_steps()["Preview"]["run"], TENANCY_KUBECONFIG=kubeconfig)
    assert result.returncode == 0, result.stderr
    assert (previews.folder.parent / "output").read_text() == "code=1\n"
    assert github_verdict(previews, github_steps()) == 1
    assert "Compared with the cluster as it is" in (previews.folder / "preview.md").read_text()
    assert (previews.folder.parent / "kubeconfig").stat().st_mode & 0o077 == 0


def test_gitlab_previews_and_fails_on_errors_only(previews: Previews) -> None:
    preview, _, verdict = gitlab_script()
    with_a_change(previews)
    result = run_script(previews, f"{preview}\n{verdict}")
    assert result.returncode == 0, result.stderr
    assert "Compared with revision origin/main" in (previews.folder / "preview.md").read_text()
    previews.write("in-review", plan="none-such")
    result = run_script(
        previews, f"{preview}\n{verdict}", TENANCY_KUBECONFIG=previews.environment["KUBECONFIG"]
    )
    assert result.returncode == 1, result.stderr
    assert "Compared with the cluster as it is" in (previews.folder / "preview.md").read_text()


@pytest.mark.parametrize(("known", "method"), [("", "POST"), ("7", "PATCH")])
def test_github_writes_one_comment_and_then_changes_it(
    offline_previews: Previews, known: str, method: str
) -> None:
    script = github_steps()["Comment"]["run"]
    result = run_script(offline_previews, script, KNOWN=known, GITHUB_REPOSITORY="a/b", NUMBER="1")
    assert result.returncode == 0, result.stderr
    written = (offline_previews.folder / "calls").read_text().splitlines()[-1]
    place = "repos/a/b/issues/comments/7" if known else "repos/a/b/issues/1/comments"
    assert written == f"api --silent --method {method} {place} --field body=@preview.md"


@pytest.mark.parametrize(("known", "method", "place"), [([], "POST", ""), ([7], "PUT", "/7")])
def test_gitlab_writes_one_note_and_then_changes_it(
    offline_previews: Previews, known: list[int], method: str, place: str
) -> None:
    notes = [{"id": 3, "body": "hello"}, *({"id": note_id, "body": f"{MARKER}\n…"} for note_id in known)]
    _, note, _ = gitlab_script()
    api = {"CI_API_V4_URL": "https://git.test", "CI_PROJECT_ID": "5", "CI_MERGE_REQUEST_IID": "6"}
    result = run_script(offline_previews, note, KNOWN=json.dumps(notes), TENANCY_TOKEN="t", **api)
    assert result.returncode == 0, result.stderr
    written = (offline_previews.folder / "calls").read_text().splitlines()[-1]
    assert f"--request {method} " in written
    assert written.endswith(f"https://git.test/projects/5/merge_requests/6/notes{place}")


def test_github_passes_where_nothing_changes(offline_previews: Previews) -> None:
    with_a_change(offline_previews)
    offline_previews.write("in-review")
    result = run_script(offline_previews, github_steps()["Preview"]["run"])
    assert result.returncode == 0, result.stderr
    assert (offline_previews.folder.parent / "output").read_text() == "code=0\n"
    assert github_verdict(offline_previews, github_steps()) == 0
