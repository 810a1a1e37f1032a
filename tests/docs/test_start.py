"""`docs/start.md` works as it is written: its commands are run, in order and in one shell."""

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


class Step(NamedTuple):
    """A block of commands, and what the page says that they print."""

    commands: str
    printed: str


def steps(text: str) -> list[Step]:
    """A block of `text` right after one of `sh` is what that one prints."""
    blocks = _FENCE.findall(text)
    found = []
    for (language, body), (next_language, next_body) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if language == "sh":
            found.append(Step(body, next_body if next_language == "text" else ""))
    return found


def first_words(text: str) -> list[str]:
    """What of an output is the same on every machine: ages, times and figures stand further right.
    A line with three dots stands for lines that are left out."""
    return [line.split()[0] for line in text.splitlines() if line.strip() not in ("", "…")]


@pytest.mark.timeout(900)
def test_every_command_of_the_start_page_works_and_prints_what_it_says(
    tools: dict[str, Path], tmp_path: Path
) -> None:
    assert tools
    found = steps(START.read_text(encoding="utf-8"))
    assert len(found) > 5
    dev = f"{shlex.quote(sys.executable)} -c {shlex.quote(COMMAND)}"
    lines = ["set -eu"]
    for number, step in enumerate(found):
        # In the running Python, and with files in a folder of the test's own.
        commands = step.commands.replace("/tmp/", f"{tmp_path}/").replace("./dev ", f"{dev} ")
        lines += [f"echo '{_MARK} {number}'", commands]
    environment = {**os.environ, FOLDER_VARIABLE: str(tmp_path / "dev"), "KUBECONFIG": str(tmp_path / "none")}
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
    outputs = done.stdout.split(_MARK)[1:]
    assert len(outputs) == len(found)
    for step, output in zip(found, outputs, strict=True):
        missing = [word for word in first_words(step.printed) if word not in output]
        assert missing == [], f"{step.commands}\nprinted:\n{output}"
