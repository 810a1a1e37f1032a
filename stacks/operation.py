"""Defines the operations on stacks, and runs them with the Pulumi CLI."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from pulumi.automation import CommandError, CommandResult, LocalWorkspace, OutputMap, Stack, UpdateSummary

from stacks.errors import StorageFailed, stack_error
from stacks.result import EventLog
from tenancy.changes import UpdateRecord
from tenancy.component import TenantResources
from tenancy.desired import DesiredState

_QUIET: Final[dict[str, Any]] = {"color": "never", "suppress_outputs": True, "suppress_progress": True}

# Settings that make the CLI faster and its output shorter. The page docs/operations.md has measurements.
ENVIRONMENT: Final = {
    "PULUMI_SKIP_UPDATE_CHECK": "true",
    "PULUMI_SKIP_CHECKPOINTS": "true",
    "PULUMI_DIY_BACKEND_DISABLE_CHECKPOINT_BACKUPS": "true",
    "PULUMI_DIY_BACKEND_NO_LEGACY_WARNING": "true",
    "PULUMI_DIY_BACKEND_GZIP": "true",
    "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
    "PULUMI_K8S_CLIENT_QPS": "200",
    "PULUMI_K8S_CLIENT_BURST": "400",
    # A command runs for about a second. So Go collects garbage only if the memory limit is almost reached.
    "GOGC": "off",
    "GOMEMLIMIT": "192MiB",
}


class EngineName(StrEnum):
    """The program that runs operations on stacks: the warm engine or the Pulumi CLI."""

    WARM = "warm"
    CLI = "cli"


@dataclass(frozen=True)
class Operation:
    """One operation on one stack. The name is `up`, `preview`, `refresh` or `destroy`."""

    name: str
    stack: str
    # Stored in the stack's history.
    message: str = ""
    record: UpdateRecord | None = None
    # The objects of the stack. Only `up` and `preview` need them.
    desired: DesiredState | None = None
    # Whether `up` and `preview` first update the stack's state from the live objects.
    refresh: bool = False

    @property
    def has_history(self) -> bool:
        """Whether the stack's history contains the operation afterwards. `destroy` removes the history."""
        return self.name in ("up", "refresh")

    def program(self) -> None:
        """The inline Pulumi program of the operation. It is empty if the operation needs no objects.

        Every workspace must have a program. Otherwise, the CLI would start a language host.
        """
        if self.desired is not None:
            TenantResources(self.desired.tenant, self.desired)

    def run(self, stack: Stack, events: EventLog) -> None:
        """Run the operation with the CLI."""
        if self.name == "preview":
            stack.preview(refresh=self.refresh, on_event=events.add, **_QUIET)
        elif self.name == "up":
            stack.up(message=self.message, refresh=self.refresh, on_event=events.add, **_QUIET)
        elif self.name == "refresh":
            stack.refresh(message=self.message, clear_pending_creates=True, on_event=events.add, **_QUIET)
        else:
            stack.destroy(message=self.message, on_event=events.add, **_QUIET)


class OneProcessStack(Stack):
    """An Automation API stack that runs only one CLI command per operation.

    The base class `Stack` runs additional commands before and after each operation.
    """

    def __init__(self, name: str, workspace: LocalWorkspace) -> None:
        # The parent's __init__ is not called, because it runs a command to select the stack.
        self.name = name
        self.workspace = workspace

    def _run_pulumi_cmd_sync(self, args: list[str], *callbacks: Any) -> CommandResult:
        # With `--remove`, no second command is needed to remove the destroyed stack.
        extra = ["--remove"] if args[0] == "destroy" else []
        return super()._run_pulumi_cmd_sync([*args, *extra], *callbacks)

    def outputs(self) -> OutputMap:
        return {}

    def info(self, show_secrets: bool = False) -> UpdateSummary:  # noqa: ARG002 - the API's signature
        return UpdateSummary("", datetime.now(UTC), "", {}, {}, "")


def no_program() -> None:
    """An empty Pulumi program, for commands that need no program.

    If a workspace had no program, the CLI would start a language host.
    """


@contextmanager
def translated_errors(events: EventLog) -> Iterator[None]:
    """Convert each CommandError and OSError in the `with` block to a StackError.

    If `events` contains errors of Pulumi's engine, the message of the StackError consists of these errors.
    """
    try:
        yield
    except CommandError as error:
        raise stack_error(str(error), tuple(events.errors)) from None
    except OSError as error:
        raise StorageFailed(f"cannot read or write files: {error}") from None
