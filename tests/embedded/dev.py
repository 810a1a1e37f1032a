"""`./dev` for the tests: the real commands, in the running Python and in a state folder of their own."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

from embedded.environment import FOLDER_VARIABLE, ROOT
from embedded.run.record import SessionRecord
from embedded.run.state_folder import StateFolder
from embedded.toolchain.release import MIRROR_VARIABLE
from embedded.toolchain.tools import TOOLS, cache_key

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

    def running(self) -> dict[str, int]:
        """Ids of the session's processes by name, as `pid` prints them."""
        record = SessionRecord.read(self.folder.record)
        return record.alive() if record else {}

    def lack(self, name: str, tools: dict[str, Path], *, build: str) -> None:
        """Makes the commands run as on a machine without this tool and without releases in reach.

        `build` is the shell script that builds it, with the target as "$1".
        """
        root = self.folder.root.with_name(f"{self.folder.root.name}-machine")
        programs, cached = root / "programs", root / "cache" / "tenancy" / "tools"
        programs.mkdir(parents=True)
        cached.mkdir(parents=True)
        for present, path in tools.items():
            if present != name and path.parent.name == cache_key(TOOLS[present]):
                (cached / path.parent.name).symlink_to(path.parent)
        # First on PATH: where the tool is on this machine's PATH, this one has no version that fits.
        _write_script(programs / name, "exit 1")
        _write_script(programs / "go", _GO.format(build=build))
        self.env |= {
            "XDG_CACHE_HOME": str(root / "cache"),
            "PATH": f"{programs}{os.pathsep}{self.env['PATH']}",
            MIRROR_VARIABLE: "http://127.0.0.1:1",
        }


# A Go that has nothing to compile, and builds by the script that it is given.
_GO = """\
case "$1" in
env) echo go1.99.0 ;;
build)
  while [ "$1" != -o ]; do shift; done
  shift
  {build}
  ;;
esac"""


def _write_script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
