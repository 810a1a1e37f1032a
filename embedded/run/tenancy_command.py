"""Writes the `tenancy` command for an instance. The command is a script that runs this checkout's code."""

import shlex
import sys

from embedded.environment import ROOT
from embedded.run.state_folder import StateFolder

# With -P, Python does not import modules from the current folder.
_SCRIPT = """#!/bin/sh
PYTHONPATH={root}${{PYTHONPATH:+:$PYTHONPATH}} exec {python} -P -m cli.main "$@"
"""


def write_tenancy_command(folder: StateFolder) -> None:
    """Write the script to the folder that `./dev env` adds to PATH."""
    folder.commands.mkdir(mode=0o700, exist_ok=True)
    script = folder.commands / "tenancy"
    script.write_text(_SCRIPT.format(root=shlex.quote(str(ROOT)), python=shlex.quote(sys.executable)))
    script.chmod(0o700)
