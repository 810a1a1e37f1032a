"""The `tenancy` command of a session: a script that runs this checkout's code with the session's Python.

Written by the supervisor into a folder that `./dev env` puts on PATH.
"""

import shlex
import sys

from embedded.environment import ROOT
from embedded.run.state_folder import StateFolder

# Its modules come from the checkout, never from the folder in which somebody stands.
_SCRIPT = """#!/bin/sh
PYTHONPATH={root}${{PYTHONPATH:+:$PYTHONPATH}} exec {python} -P -m cli.main "$@"
"""


def write_tenancy_command(folder: StateFolder) -> None:
    folder.commands.mkdir(mode=0o700, exist_ok=True)
    script = folder.commands / "tenancy"
    script.write_text(_SCRIPT.format(root=shlex.quote(str(ROOT)), python=shlex.quote(sys.executable)))
    script.chmod(0o700)
