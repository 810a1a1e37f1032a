"""Runs `./dev` commands with the Python interpreter of the tests and a separate state folder."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

from embedded.environment import FOLDER_VARIABLE, ROOT
from embedded.run.record import InstanceRecord
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
    """`./dev` with its own state folder.

    KUBECONFIG is a path that does not exist, so the user has no cluster.
    """

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
        """Run a command, check that it succeeds, and return its stdout."""
        result = self(*arguments)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def variables(self) -> dict[str, str]:
        """The environment variables that `eval "$(./dev env)"` sets in a shell."""
        lines = [shlex.split(line) for line in self.succeeds("env").splitlines()]
        assert all(words[0] == "export" for words in lines)
        return dict(words[1].split("=", 1) for words in lines)

    def pids(self) -> list[int]:
        """The IDs of all processes that the instance has recorded."""
        record = InstanceRecord.read(self.folder.record)
        assert record is not None
        return [identity.pid for identity in record.processes.values()]

    def running(self) -> dict[str, int]:
        """The IDs of the running processes, keyed by name. These are the IDs that `./dev pid` prints."""
        record = InstanceRecord.read(self.folder.record)
        return record.live_pids() if record else {}

    def lack(self, *names: str, tools: dict[str, Path], build: str) -> None:
        """Hide some tools from the `./dev` commands, and make downloads impossible.

        So the commands must build the tools. `build` is a shell script that runs instead of each build. "$1"
        is the path of the binary to build.
        """
        root = self.folder.root.with_name(f"{self.folder.root.name}-machine")
        programs, cached = root / "programs", root / "cache" / "tenancy" / "tools"
        programs.mkdir(parents=True)
        cached.mkdir(parents=True)
        for tool, path in tools.items():
            if tool not in names and path.parent.name == cache_key(TOOLS[tool]):
                (cached / path.parent.name).symlink_to(path.parent)
        # Hide tools that are installed on this machine: the first program on PATH with the tool's name prints
        # no version.
        for name in names:
            _write_script(programs / name, "exit 1")
        _write_script(programs / "go", _GO.format(build=build))
        self.env |= {
            "XDG_CACHE_HOME": str(root / "cache"),
            "PATH": f"{programs}{os.pathsep}{self.env['PATH']}",
            MIRROR_VARIABLE: "http://127.0.0.1:1",
        }


# A replacement for `go`. It lists no packages to compile, and runs the given script instead of a build.
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
