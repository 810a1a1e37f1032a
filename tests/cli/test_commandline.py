"""`run_tenancy` behaves like a separate `tenancy` process."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commandline import run_tenancy
from tests.platform import ROOT, tenant_manifest

_MANIFEST = json.dumps(tenant_manifest("same", plan="pro", displayName="[b]Same[/b] ünd ☃"))
_OFFLINE = ("preview", "-", "--offline")
_COMPLETION = {"_TENANCY_COMPLETE": "complete_bash", "COMP_WORDS": "tenancy pre", "COMP_CWORD": "1"}


@pytest.mark.parametrize(
    ("code", "arguments", "input", "variables"),
    [
        (0, ("usage", "--help"), None, {"COLUMNS": "60", "FORCE_COLOR": "1"}),
        (1, ("list",), None, {"KUBECONFIG": "empty.kubeconfig"}),
        (1, ("list", "--nonsense"), None, {}),
        (2, _OFFLINE, _MANIFEST, {"COLUMNS": "70", "FORCE_COLOR": "1", "TERM": "xterm-256color"}),
        (2, (*_OFFLINE, "--output", "json"), _MANIFEST, {}),
        (0, (), None, _COMPLETION),
    ],
)
def test_call_has_the_code_and_the_output_of_a_process(
    code: int, arguments: tuple[str, ...], input: str | None, variables: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "empty.kubeconfig").write_text("kind: Config\n")
    environment = {**os.environ, "KUBECONFIG": "/nowhere", **variables}
    process = subprocess.run(
        [sys.executable, "-m", "cli.main", *arguments],
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": str(ROOT)},
        input=input or "",
        capture_output=True,
        text=True,
        check=False,
    )
    called = run_tenancy(*arguments, cwd=tmp_path, environment=environment, input=input)
    assert process.returncode == code, process.stderr
    assert "Traceback" not in process.stderr
    assert (called.returncode, called.stdout, without_frames(called.stderr)) == (
        process.returncode,
        process.stdout,
        without_frames(process.stderr),
    )


def test_output_option_has_one_name_and_earlier_scripts_keep_working(tmp_path: Path) -> None:
    outputs = [
        run_tenancy(*_OFFLINE, *option, "json", cwd=tmp_path, environment=os.environ, input=_MANIFEST).stdout
        for option in (("-o",), ("--output",), ("--format",))
    ]
    assert outputs[0]
    assert outputs == outputs[:1] * 3
    for command in (("preview",), ("plans", "impact")):
        help_text = run_tenancy(*command, "--help", environment=os.environ).stdout
        assert "--output" in help_text
        assert "--format" not in help_text


def test_help_of_a_command_has_the_global_options_in_one_group() -> None:
    for command in (("list",), ("plans", "impact")):
        _, group, rest = run_tenancy(*command, "--help", environment=os.environ).stdout.partition(
            "Global options"
        )
        assert group, command
        assert "--kubeconfig" in rest
        assert "--context" in rest


def without_frames(text: str) -> str:
    """The text without the frames of the progress spinner. The number of frames depends on timing."""
    return re.sub("\x1b\\[2K\x1b\\[32m.\x1b\\[0m reading…\n", "", text)


def test_call_leaves_nothing_to_the_next(tmp_path: Path) -> None:
    coloured = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": "40"}
    plain = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "COLUMNS")}
    first = run_tenancy(*_OFFLINE, cwd=tmp_path, environment=coloured, input=_MANIFEST)
    second = run_tenancy(*_OFFLINE, environment=plain, input=_MANIFEST)
    assert "\x1b[" in first.stdout
    assert "\x1b[" not in second.stdout
    assert "+ Namespace tenant-same" in second.stdout
