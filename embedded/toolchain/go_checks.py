"""`python -m embedded.toolchain.go_checks format|vet`: checks the Go code of this repository.

`format` lists the files that gofmt would change. `vet` runs `go vet`.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from embedded.errors import SetupFailed
from embedded.toolchain.build import build_flags, copy_source
from embedded.toolchain.golang import ensure_go, go_environment
from embedded.toolchain.tools import ENGINE, TOOLS, Tool

# The tools with Go code in this repository.
_OWN_TOOLS: Final = (ENGINE, "pulumi-resource-kubernetes")


def run_in_copy(tool: Tool, command: str, *arguments: str) -> int:
    """Run a Go command such as `vet` or `test` in a copy of the tool's sources, and return the exit code.

    The command uses the same build flags as a build of the tool. So the command and the build share compiled
    packages in Go's build cache.
    """
    go = str(ensure_go(tool.folder))
    with tempfile.TemporaryDirectory(prefix="tenancy-go-") as folder:
        source = Path(folder) / "source"
        copy_source(go, tool, source, lambda _: None)
        options = ["-ldflags", tool.ldflags, *build_flags(tool)]
        return subprocess.call([go, command, *options, *arguments], cwd=source, env=go_environment())


def vet() -> bool:
    """Run `go vet` for the warm engine. It prints its findings. Return True if there are no findings.

    Pulumi's Kubernetes provider is not checked. Its code in this repository has no logic, but `go vet` would
    compile all Kubernetes packages for it, even if the provider itself is downloaded.
    """
    return run_in_copy(TOOLS[ENGINE], "vet", "./...") == 0


def is_formatted() -> bool:
    """Print the paths of the files that gofmt would change. Return True if there are no such files."""
    folders = [TOOLS[name].folder for name in _OWN_TOOLS]
    command = [str(ensure_go(folders[0])), "env", "GOROOT"]
    goroot = subprocess.check_output(command, cwd="/", env=go_environment(), text=True).strip()
    files = subprocess.check_output([Path(goroot) / "bin" / "gofmt", "-l", *folders], text=True)
    print(files, end="")
    return not files


def main(name: str) -> int:
    try:
        is_passed = {"format": is_formatted, "vet": vet}[name]()
    except SetupFailed as error:
        print(error, file=sys.stderr)
        return 1
    return 0 if is_passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
