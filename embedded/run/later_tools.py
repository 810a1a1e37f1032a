"""The tools that an instance needs at startup, and those that it gets while it runs ("later tools")."""

import sys
from collections.abc import Sequence
from pathlib import Path

from embedded.controlplane.processes import ProcessFailed, ProcessGroup, log_tail
from embedded.environment import ROOT
from embedded.toolchain.tools import CONTROL_PLANE_TOOLS, NODE_TOOLS, STACK_TOOLS

# Tools for the user's shell that the instance itself may not need.
SHELL_TOOLS = ("kubectl", "pulumi-language-python")

_NAME = "tools"


def startup_tools(context: str | None) -> tuple[str, ...]:
    """The tools that an instance needs to start. `context` None means the embedded control plane."""
    # With a context, kubectl reads the user's kubeconfig.
    return (*CONTROL_PLANE_TOOLS, *STACK_TOOLS) if context is None else ("kubectl", *STACK_TOOLS)


def later_tools(context: str | None) -> tuple[str, ...]:
    """The tools to get after the start, in this order: the other tools for a shell, then those for nodes."""
    names = (*SHELL_TOOLS, *NODE_TOOLS) if context is None else SHELL_TOOLS
    return tuple(name for name in dict.fromkeys(names) if name not in startup_tools(context))


def preparing_text(names: Sequence[str], log: Path) -> str:
    pods = " Pods stay Pending until then." if set(names) & set(NODE_TOOLS) else ""
    return f"Still being prepared: {', '.join(names)}.{pods} Progress: {log}"


class LaterTools:
    """A background process that gets tools. It starts with the object, and exits with this process."""

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
        """Whether the process has exited, with or without success."""
        try:
            return bool(self._group.exits())
        except ProcessFailed:
            return True

    def progress(self) -> str:
        """The last line of the log."""
        return log_tail(self._log, lines=1).strip()

    def failure_text(self, missing: Sequence[str]) -> str:
        pods = " Pods stay Pending." if set(missing) & set(NODE_TOOLS) else ""
        return (
            f"{', '.join(missing)} could not be prepared.{pods} The other processes continue. The next ./dev"
            f" run tries again. Last lines of {self._log}:\n{log_tail(self._log)}"
        )

    def stop(self) -> None:
        self._group.stop()
