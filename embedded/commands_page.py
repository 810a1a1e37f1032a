"""Generates the reference page of the `tenancy` commands with Typer, from the help texts of the commands."""

import os
import re
from typing import Any, Final

from typer import Context
from typer.cli import get_docs_for_click
from typer.main import get_command

from cli.command_loader import GLOBAL_OPTIONS, load_command
from cli.main import app
from embedded.environment import ROOT

COMMANDS_PAGE: Final = ROOT / "docs" / "reference" / "cli.md"
_INTRODUCTION: Final = """\
# Commands

This page lists all commands of `tenancy`, the command-line tool of this project, with their options.
`tenancy COMMAND --help` prints the same texts. [Command line](../howto/cli.md) has examples.
[Concepts](../concepts.md#terms) defines the terms, such as watcher, plan and drift.

Every command also accepts the global options {options}, which are described first.

This page is generated from the code by `./dev generate`. Do not edit it."""

# The list of commands at the start of Typer's page. It is removed, because it only repeats the headings with
# truncated help texts.
_COMMAND_LIST: Final = re.compile(r"^\*\*Commands\*\*:\n\n(\* .*\n)+\n", re.MULTILINE)


def commands_page() -> str:
    # `cli.main` sets the same variable. With this variable, Typer does not detect the user's shell, so the
    # page documents the shell as an argument of the completion options.
    os.environ.setdefault("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "true")
    group: Any = get_command(app)
    group.commands = {name: load_command(name) for name in group.commands}
    options = [f"`{option.opts[0]}`" for option in group.params if option.rich_help_panel == GLOBAL_OPTIONS]
    page = get_docs_for_click(obj=group, ctx=Context(group), name="tenancy")
    _, _, body = page.partition("\n")
    body = _COMMAND_LIST.sub("", body)
    *first, last = options
    introduction = _INTRODUCTION.format(options=f"{', '.join(first)} and {last}")
    return f"{introduction}\n\n{body.strip()}\n"
