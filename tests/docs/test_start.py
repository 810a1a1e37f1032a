"""The commands in `docs/start.md` work, and print the output on the page. They run in order, in one shell."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from embedded.environment import FOLDER_VARIABLE, ROOT
from tests.embedded.dev import COMMAND

START = ROOT / "docs" / "start.md"
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK = "=== step"
# Patterns of text that changes from run to run, and the replacement for each pattern.
_VARIABLE = {
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)": "TIME",
    r"\b\d+(\.\d+)? s$": "DURATION",
    r"\b\d+s$": "AGE",
    r"127\.0\.0\.1:\d+": "ADDRESS",
}


class Step(NamedTuple):
    """A block of commands on the page, and the output that the page shows for these commands."""

    commands: str
    printed: str


def steps(text: str) -> list[Step]:
    """The steps of the page.

    If a `text` block directly follows an `sh` block, the `text` block is the output.
    """
    blocks = _FENCE.findall(text)
    result = []
    for (language, body), (next_language, next_body) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if language == "sh":
            result.append(Step(body, next_body if next_language == "text" else ""))
    return result


def constant(line: str) -> str:
    """The line without the parts that change from run to run, such as times and the widths of columns."""
    text = " ".join(line.split())
    for variable, name in _VARIABLE.items():
        text = re.sub(variable, name, text)
    return text


def missing_lines(printed: str, output: str) -> list[str]:
    """The lines on the page that are missing in the output, or are in another order there.

    The output may contain additional lines: lines that the page replaces by `…`, and lines of standard error.
    """
    remaining, missing = [constant(line) for line in output.splitlines()], []
    for line in map(constant, printed.splitlines()):
        if line in ("", "…"):
            continue
        if line in remaining:
            remaining = remaining[remaining.index(line) + 1 :]
        else:
            missing.append(line)
    return missing


def test_line_that_is_not_printed_or_in_another_place_is_missing() -> None:
    output = (
        "NAME  PHASE  TOOK\nstray\nacme  Active  12.25 s\nat 2031-12-01T01:02:03+01:00: http://127.0.0.1:9/"
    )
    assert missing_lines("NAME   PHASE   TOOK\nacme   Active   3 s\n…\n", output) == []
    assert missing_lines("acme Active 3 s\nat 2026-01-31T12:00:00Z: http://127.0.0.1:40123/", output) == []
    assert missing_lines("acme   Failed   3 s", output) == ["acme Failed DURATION"]
    assert missing_lines("acme", output) == ["acme"]
    assert missing_lines("acme   Active   3 s\nNAME PHASE TOOK", output) == ["NAME PHASE TOOK"]


@pytest.mark.timeout(900)
def test_every_command_of_the_start_page_works_and_prints_what_it_says(
    tools: dict[str, Path], tmp_path: Path
) -> None:
    assert tools
    page_steps = steps(START.read_text(encoding="utf-8"))
    assert len(page_steps) > 5
    dev = f"{shlex.quote(sys.executable)} -c {shlex.quote(COMMAND)}"
    lines = ["set -eu"]
    for number, step in enumerate(page_steps):
        # Run `./dev` with the Python interpreter of the tests, and use a temporary folder for files.
        commands = step.commands.replace("/tmp/", f"{tmp_path}/").replace("./dev ", f"{dev} ")
        lines += [f"echo '{_MARK} {number}'", commands]
    environment = {
        **os.environ,
        FOLDER_VARIABLE: str(tmp_path / ".dev"),
        "KUBECONFIG": str(tmp_path / "none"),
    }
    try:
        done = subprocess.run(
            ["bash", "-c", "\n".join(lines)],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    finally:
        subprocess.run([sys.executable, "-c", COMMAND, "stop"], cwd=ROOT, env=environment, check=True)
    assert done.returncode == 0, done.stdout
    outputs = done.stdout.replace(str(tmp_path), "…").split(_MARK)[1:]
    assert len(outputs) == len(page_steps)
    for step, output in zip(page_steps, outputs, strict=True):
        assert missing_lines(step.printed, output) == [], f"{step.commands}\nprinted:\n{output}"
