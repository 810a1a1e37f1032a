"""The reference page of the `tenancy` commands. Typer generates it from the help texts."""

import os
import re
import subprocess
import sys
from typing import Final

from embedded.environment import ROOT

COMMANDS_PAGE: Final = ROOT / "docs" / "reference" / "cli.md"
_INTRODUCTION: Final = """\
# Commands

This page lists all commands of `tenancy`, the command-line tool of this project, with their options.
`tenancy COMMAND --help` prints the same texts. [Command line](../howto/cli.md) has examples.
[Concepts](../concepts.md#terms) defines the terms, such as watcher, plan and drift.

This page is generated from the code by `./dev generate`. Do not edit it."""

# The list of commands at the start of Typer's page. It is removed, because it only repeats the headings with
# truncated help texts.
_COMMAND_LIST: Final = re.compile(r"^\*\*Commands\*\*:\n\n(\* .*\n)+\n", re.MULTILINE)

# `cli.main` sets the same variable. Typer then does not detect the user's shell. Instead, it documents the
# shell as an argument of the completion options.
_ENV: Final = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "true"}


def commands_page() -> str:
    command = [sys.executable, "-m", "typer", "cli.main", "utils", "docs", "--name", "tenancy"]
    page = subprocess.run(command, cwd=ROOT, env=_ENV, capture_output=True, text=True, check=True).stdout
    _, _, body = page.partition("\n")
    body = _COMMAND_LIST.sub("", body)
    return f"{_INTRODUCTION}\n\n{body.strip()}\n"
