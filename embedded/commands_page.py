"""The docs' page of the command line, made from its own help.

`./dev generate` writes it. Typer reads the commands and words the page; only title and introduction are ours.
"""

import os
import re
import subprocess
import sys
from typing import Final

from embedded.environment import ROOT

COMMANDS_PAGE: Final = ROOT / "docs" / "reference" / "cli.md"
_INTRODUCTION: Final = """\
# Commands

Every command of `tenancy`, with its options, as `tenancy COMMAND --help` tells them. How they are used:
[Command line](../howto/cli.md).

Made by `./dev generate` from the commands; do not edit."""

# Each command has a heading; Typer's list before them cuts their help short.
_LIST: Final = re.compile(r"^\*\*Commands\*\*:\n\n(\* .*\n)+\n", re.MULTILINE)

# As `tenancy` itself has it: completion is for the shell that is named.
_ENV: Final = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "true"}


def commands_page() -> str:
    command = [sys.executable, "-m", "typer", "cli.main", "utils", "docs", "--name", "tenancy"]
    told = subprocess.run(command, cwd=ROOT, env=_ENV, capture_output=True, text=True, check=True).stdout
    _, _, body = told.partition("\n")
    body = _LIST.sub("", body)
    return f"{_INTRODUCTION}\n\n{body.strip()}\n"
