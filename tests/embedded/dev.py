"""`./dev` for the tests: the real commands, in the running Python and in a state folder of their own."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

from embedded.environment import FOLDER_VARIABLE, ROOT
from embedded.session.record import SessionRecord
from embedded.session.state import StateFolder

COMMAND = """
import sys
from embedded import cli
from embedded import environment
environment.is_entered = lambda: True
sys.exit(cli.main(sys.argv[1:]))
"""


class Dev:
    """./dev on one state folder; KUBECONFIG is the user's own, and leads nowhere."""

    def __init__(self, folder: Path) -> None:
        self.folder = StateFolder(folder)
        self.env = {**os.environ, FOLDER_VARIABLE: str(folder), "KUBECONFIG": str(folder / "none")}

    def popen(self, *arguments: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-c", COMMAND, *arguments]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=ROOT, env=self.env, stdout=pipe, stderr=pipe, text=True)

    def __call__(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        with self.popen(*arguments) as process:
            output, errors = process.communicate()
        return subprocess.CompletedProcess(arguments, process.returncode, output, errors)

    def succeeds(self, *arguments: str) -> str:
        done = self(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def variables(self) -> dict[str, str]:
        """What a shell has after eval "$(./dev env)"."""
        lines = [shlex.split(line) for line in self.succeeds("env").splitlines()]
        assert all(words[0] == "export" for words in lines)
        return dict(words[1].split("=", 1) for words in lines)

    def pids(self) -> list[int]:
        record = SessionRecord.read(self.folder.record)
        assert record is not None
        return [mark.pid for mark in record.processes.values()]
