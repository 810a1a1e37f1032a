"""Downloads or builds the tools of `./dev run`: the startup tools and the later tools.

`./dev run` cannot start without the startup tools. It downloads or builds the later tools in the background
while it runs.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from embedded.controlplane.processes import ProcessFailed, ProcessGroup, log_tail
from embedded.environment import ROOT
from embedded.errors import SetupFailed
from embedded.toolchain.resolver import ensure_tools, present_tools
from embedded.toolchain.tools import CONTROL_PLANE_TOOLS, ENGINE, NODE_TOOLS, STACK_TOOLS

# The tools that users need in their shell. The instance itself does not need all of them.
SHELL_TOOLS = ("kubectl", "pulumi-language-python")

_NAME = "tools"


def startup_tools(context: str | None) -> tuple[str, ...]:
    """The names of the tools without which `./dev run` cannot start.

    `context` is a context of the user's kubeconfig. If `context` is None, `./dev run` uses the embedded
    control plane.
    """
    # With a context, the instance needs kubectl to read the user's kubeconfig.
    cluster_tools = CONTROL_PLANE_TOOLS if context is None else ("kubectl",)
    return tuple(name for name in (*cluster_tools, *STACK_TOOLS) if name != ENGINE)


def later_tools(context: str | None) -> tuple[str, ...]:
    """The names of the later tools, in this order: for the watcher, for the user's shell, and for the nodes.

    If `context` is a context of the user's kubeconfig, no tools for nodes are needed.
    """
    names = (ENGINE, *SHELL_TOOLS, *NODE_TOOLS) if context is None else (ENGINE, *SHELL_TOOLS)
    return tuple(name for name in dict.fromkeys(names) if name not in startup_tools(context))


def ensure_startup_tools(context: str | None) -> dict[str, Path]:
    """The paths of the startup tools, keyed by name. Downloads or builds missing tools.

    The warm engine is optional. If it is already on this machine, the result contains it. If the Pulumi CLI
    has to be built, the warm engine is built too. If only the build of the warm engine fails, this function
    prints the error.
    """
    names = startup_tools(context)
    try:
        return ensure_tools(names, built_together=[ENGINE])
    except SetupFailed as error:
        tools = present_tools(names)
        if len(tools) < len(names):
            raise
        print(f"{error}\nThe watcher uses the Pulumi CLI instead.", file=sys.stderr)
        return tools


def preparing_text(names: Sequence[str], log: Path) -> str:
    engine = " The watcher uses the Pulumi CLI until then." if ENGINE in names else ""
    pods = " Pods stay Pending until then." if set(names) & set(NODE_TOOLS) else ""
    return f"Still being prepared: {', '.join(names)}.{engine}{pods} Progress: {log}"


class LaterTools:
    """A background process that downloads or builds later tools.

    The constructor starts the background process. It is stopped when this Python process exits.
    """

    def __init__(self, names: Sequence[str], log: Path) -> None:
        self.names = tuple(names)
        self._log = log
        log.unlink(missing_ok=True)
        self._group = ProcessGroup()
        self._group.start(_NAME, [sys.executable, "-m", "embedded.toolchain", *names], log=log, cwd=ROOT)

    @property
    def pids(self) -> dict[str, int]:
        return {"tools-guard": self._group.guard_pid, **self._group.pids}

    def has_exited(self) -> bool:
        """Whether the process has exited, successfully or not."""
        try:
            return bool(self._group.exits())
        except ProcessFailed:
            return True

    def progress(self) -> str:
        """The last line of the process's log, which is usually a progress line. Empty if there is no log."""
        return log_tail(self._log, lines=1).strip()

    def failure_text(self, missing: Sequence[str]) -> str:
        engine = " The watcher uses the Pulumi CLI instead of tenancy-engine." if ENGINE in missing else ""
        pods = " Pods stay Pending." if set(missing) & set(NODE_TOOLS) else ""
        return (
            f"{', '.join(missing)} could not be prepared.{engine}{pods} The other processes continue. The"
            f" next ./dev run tries again. Last lines of {self._log}:\n{log_tail(self._log)}"
        )

    def stop(self) -> None:
        self._group.stop()
