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

All commands of `tenancy` with their options, as printed by `tenancy COMMAND --help`. For examples, see
[Command line](../howto/cli.md).

Generated from the commands by `./dev generate`; do not edit."""

# The list of commands at the start of Typer's page. It is removed, because it only repeats the headings with
# truncated help texts.
_COMMAND_LIST: Final = re.compile(r"^\*\*Commands\*\*:\n\n(\* .*\n)+\n", re.MULTILINE)

# `cli.main` sets the same variable. Typer then does not detect the shell for completion, and documents it as
# an argument.
_ENV: Final = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "true"}


def commands_page() -> str:
    command = [sys.executable, "-m", "typer", "cli.main", "utils", "docs", "--name", "tenancy"]
    page = subprocess.run(command, cwd=ROOT, env=_ENV, capture_output=True, text=True, check=True).stdout
    _, _, body = page.partition("\n")
    body = _COMMAND_LIST.sub("", body)
    return f"{_INTRODUCTION}\n\n{body.strip()}\n"
