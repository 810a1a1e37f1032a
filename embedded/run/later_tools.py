"""The tools that a session can start without: which they are, and getting them while it runs.

The supervisor owns the process that gets them. It runs under a guard, so it never outlives the session.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from embedded.controlplane.processes import ProcessFailed, ProcessGroup, log_tail
from embedded.environment import ROOT
from embedded.toolchain.tools import CONTROL_PLANE_TOOLS, NODE_TOOLS, STACK_TOOLS

# What a person uses in a shell, beyond what the session itself runs.
SHELL_TOOLS = ("kubectl", "pulumi-language-python")

_NAME = "tools"


def first_tools(context: str | None) -> tuple[str, ...]:
    """What a session needs to start; `context` None is the embedded control plane."""
    # kubectl reads the user's kubeconfig.
    return (*CONTROL_PLANE_TOOLS, *STACK_TOOLS) if context is None else ("kubectl", *STACK_TOOLS)


def later_tools(context: str | None) -> tuple[str, ...]:
    """What may follow, in this order: the rest of what a shell uses, then the nodes for pods."""
    names = (*SHELL_TOOLS, *NODE_TOOLS) if context is None else SHELL_TOOLS
    return tuple(name for name in dict.fromkeys(names) if name not in first_tools(context))


def preparing_text(names: Sequence[str], log: Path) -> str:
    pods = " Pods stay Pending until then." if set(names) & set(NODE_TOOLS) else ""
    return f"Still being prepared: {', '.join(names)}.{pods} Progress: {log}"


class LaterTools:
    """Gets tools in a process of its own, from the moment it is made until it has ended or is stopped."""

    def __init__(self, names: Sequence[str], log: Path) -> None:
        self.names = tuple(names)
        self._log = log
        log.unlink(missing_ok=True)
        self._group = ProcessGroup()
        self._group.start(_NAME, [sys.executable, "-m", "embedded.toolchain", *names], log=log, cwd=ROOT)

    @property
    def pids(self) -> dict[str, int]:
        return {"tools-guard": self._group.guard_pid, **self._group.pids}

    def is_over(self) -> bool:
        """Whether it has ended; whether it has succeeded shows in the tools that are there."""
        try:
            return bool(self._group.exits())
        except ProcessFailed:
            return True

    def progress(self) -> str:
        """The last line of its log."""
        return log_tail(self._log, lines=1).strip()

    def failure_text(self, missing: Sequence[str]) -> str:
        pods = " Pods stay Pending." if set(missing) & set(NODE_TOOLS) else ""
        return (
            f"{', '.join(missing)} could not be prepared.{pods} The session continues without; the next ./dev"
            f" run tries again. The end of {self._log}:\n{log_tail(self._log)}"
        )

    def stop(self) -> None:
        self._group.stop()
