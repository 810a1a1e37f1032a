"""Writes scripts for the `tenancy` command and its kubectl plugin. The scripts run this checkout's code."""

import shlex
import sys
from typing import Final

from embedded.environment import ROOT
from embedded.run.state_folder import StateFolder

# With -P, Python does not import modules from the current folder.
_SCRIPT: Final = """#!/bin/sh
PYTHONPATH={root}${{PYTHONPATH:+:$PYTHONPATH}} exec {python} -P -c {program} "$@"
"""
# The module and the function of each command, as in `[project.scripts]` of pyproject.toml.
_COMMANDS: Final = {
    "tenancy": ("cli.main", "main"),
    "kubectl-tenancy": ("cli.kubectl_plugin", "main"),
    "kubectl_complete-tenancy": ("cli.kubectl_plugin", "complete"),
}


def write_tenancy_command(folder: StateFolder) -> None:
    """Write the scripts to the folder that `./dev env` adds to PATH."""
    folder.commands.mkdir(mode=0o700, exist_ok=True)
    root, python = shlex.quote(str(ROOT)), shlex.quote(sys.executable)
    for name, (module, function) in _COMMANDS.items():
        program = shlex.quote(f"from {module} import {function}; {function}()")
        script = folder.commands / name
        script.write_text(_SCRIPT.format(root=root, python=python, program=program))
        script.chmod(0o700)
