"""A tenant's stack: up, destroy, preview and refresh, one CLI process each.

The watcher and the benchmarks call `Stacks`. It knows nothing of Tenants' manifests or
status: desired state goes in, a result or a StackError comes out.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import structlog
from pulumi.automation import CommandError, CommandResult, LocalWorkspace, OutputMap, Stack, UpdateSummary

from stacks.backend import backend_url, create_in_file_backend, is_passphrase_backend, update_count
from stacks.command import PulumiProcess, end_leftovers
from stacks.errors import StackBusy, StackNotFound, StorageFailed, stack_error
from stacks.history import Update, updates_in
from stacks.lock import is_abandoned
from stacks.project import empty_run_folder, quiet_home, salt_in, take_run_folder, work_folder
from stacks.result import EventLog, StackResult
from stacks.state import objects_in
from tenancy.base.manifest import Manifest
from tenancy.base.names import stack_name
from tenancy.changes import UpdateRecord
from tenancy.component import TenantResources
from tenancy.desired import DesiredState

log = structlog.get_logger(__name__)

Program = Callable[[], None]

# What makes the CLI quick, and quiet: see the README's section on speed.
_ENVIRONMENT: Final = {
    "PULUMI_SKIP_UPDATE_CHECK": "true",
    "PULUMI_SKIP_CHECKPOINTS": "true",
    "PULUMI_DIY_BACKEND_DISABLE_CHECKPOINT_BACKUPS": "true",
    "PULUMI_DIY_BACKEND_NO_LEGACY_WARNING": "true",
    "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
    "PULUMI_K8S_CLIENT_QPS": "200",
    "PULUMI_K8S_CLIENT_BURST": "400",
    # A command lives for a second: collecting its garbage is only worth while when there is much of it.
    "GOGC": "off",
    "GOMEMLIMIT": "384MiB",
}
_QUIET: Final[dict[str, Any]] = {"color": "never", "suppress_outputs": True, "suppress_progress": True}


@dataclass(frozen=True)
class _Operation:
    """One thing to do with one stack."""

    name: str
    stack: str
    program: Program
    run: Callable[[Stack, EventLog], object]
    record: UpdateRecord | None = None


class _OneProcessStack(Stack):
    """The Automation API's stack, less the further commands it runs around each operation."""

    def __init__(self, name: str, workspace: LocalWorkspace) -> None:
        # Not the parent's: that would select the stack, with a process of its own.
        self.name = name
        self.workspace = workspace

    def _run_pulumi_cmd_sync(self, args: list[str], *callbacks: Any) -> CommandResult:
        # The API would remove a destroyed stack with a second process.
        extra = ["--remove"] if args[0] == "destroy" else []
        return super()._run_pulumi_cmd_sync([*args, *extra], *callbacks)

    def outputs(self) -> OutputMap:
        return {}

    def info(self, show_secrets: bool = False) -> UpdateSummary:  # noqa: ARG002 - the API's signature
        return UpdateSummary("", datetime.now(UTC), "", {}, {}, "")


class Stacks:
    """All tenants' stacks on one backend."""

    def __init__(self, url: str, run_dir: Path, command: PulumiProcess) -> None:
        self._backend_url = backend_url(url)
        self._run_dir = run_dir.absolute()
        self._command = command
        self._environment = {**_ENVIRONMENT, "PULUMI_BACKEND_URL": self._backend_url}
        self._salt: str | None = None

    def prepare(self) -> None:
        """Called once, before the first operation: clears what a killed process left behind."""
        with _told_errors(EventLog()):
            self._lock = take_run_folder(self._run_dir)
            if ended := end_leftovers(self._run_dir):
                log.warning("ended processes of an earlier run", count=ended)
            empty_run_folder(self._run_dir)
            self._environment["PULUMI_HOME"] = str(quiet_home(self._run_dir))
            if is_passphrase_backend(self._backend_url):
                self._salt = self._new_salt()

    def up(
        self,
        desired: DesiredState,
        message: str,
        record: UpdateRecord | None = None,
        *,
        refresh: bool = False,
    ) -> StackResult:
        """Makes the cluster as desired. With `refresh`, what was changed behind our back is seen first.
        Message and record stand in the history."""
        name = stack_name(desired.tenant)

        def run(stack: Stack, events: EventLog) -> None:
            create_in_file_backend(self._backend_url, name)
            stack.up(message=message, refresh=refresh, on_event=events.add, **_QUIET)

        operation = _Operation("up", name, _program(desired), run, record)
        try:
            result = self._operate(operation)
        except StackNotFound:
            self._create(name)
            result = self._operate(operation)
        if result.has_pending_operations:
            # The `up` has adopted what they made; the record of them would stay for ever.
            try:
                self.refresh(desired.tenant, "clears operations that a killed process left pending")
            except StackBusy as busy:
                log.warning("pending operations not cleared", stack=name, problem=str(busy))
        return result

    def preview(self, desired: DesiredState, *, refresh: bool = False) -> StackResult:
        """What `up` would do. Changes nothing."""

        def run(stack: Stack, events: EventLog) -> None:
            stack.preview(refresh=refresh, on_event=events.add, **_QUIET)

        return self._operate(_Operation("preview", stack_name(desired.tenant), _program(desired), run))

    def refresh(self, tenant: str, message: str) -> StackResult:
        """Makes the state as the cluster is, and forgets creates that were never finished."""

        def run(stack: Stack, events: EventLog) -> None:
            stack.refresh(message=message, clear_pending_creates=True, on_event=events.add, **_QUIET)

        return self._operate(_Operation("refresh", stack_name(tenant), _no_program, run))

    def destroy(self, tenant: str, message: str) -> StackResult | None:
        """Deletes every object and then the stack itself; None where there is no stack."""

        def run(stack: Stack, events: EventLog) -> None:
            stack.destroy(message=message, on_event=events.add, **_QUIET)

        try:
            return self._operate(_Operation("destroy", stack_name(tenant), _no_program, run))
        except StackNotFound:
            return None

    def history(self, tenant: str) -> list[Update]:
        """The stack's updates, newest first. Needs no `prepare`, takes no lock, writes nothing."""
        name = stack_name(tenant)
        with _told_errors(EventLog()), self._work_folder(name) as folder:
            arguments = ["stack", "history", "--json", "--full-dates", "--stack", name]
            told = self._command.run(arguments, str(folder), self._environment)
        return updates_in(told.stdout)

    def objects(self, tenant: str) -> list[Manifest]:
        """The objects in the stack's state. Needs no `prepare`, takes no lock, writes nothing."""
        name = stack_name(tenant)
        with _told_errors(EventLog()), self._work_folder(name) as folder:
            arguments = ["stack", "export", "--stack", name]
            exported = self._command.run(arguments, str(folder), self._environment)
        return objects_in(exported.stdout)

    def forget(self, tenant: str) -> None:
        """Drops the stack and its history, and leaves what it made alone. No stack is fine."""
        name = stack_name(tenant)
        try:
            with _told_errors(EventLog()), self._work_folder(name) as folder:
                arguments = ["stack", "rm", "--force", "--yes", "--stack", name]
                self._command.run(arguments, str(folder), self._environment)
        except StackNotFound:
            return

    def _operate(self, operation: _Operation) -> StackResult:
        """A lock whose holder is dead is cleared, and the operation tried once more."""
        try:
            return self._attempt(operation)
        except StackBusy as busy:
            if not busy.locks or not all(is_abandoned(lock) for lock in busy.locks):
                advice = f"if that process is gone, run: pulumi cancel --stack {operation.stack}"
                raise StackBusy(f"{busy}; {advice}", busy.locks) from None
            log.warning("clearing a dead process's lock", stack=operation.stack, locks=len(busy.locks))
            self._cancel(operation.stack)
            return self._attempt(operation)

    def _attempt(self, operation: _Operation) -> StackResult:
        events = EventLog()
        started = time.monotonic()
        with _told_errors(events), self._work_folder(operation.stack, operation.record) as folder:
            stack = _OneProcessStack(operation.stack, self._workspace(folder, operation.program))
            operation.run(stack, events)
            has_history = operation.name in ("up", "refresh")
            version = update_count(self._backend_url, stack) if has_history else None
        return StackResult(
            stack=operation.stack,
            operation=operation.name,
            counts=events.counts,
            changes=tuple(events.changes),
            duration_s=round(time.monotonic() - started, 3),
            version=version,
            has_pending_operations=events.has_pending_operations,
        )

    def _create(self, name: str) -> None:
        with _told_errors(EventLog()), self._work_folder(name) as folder:
            self._workspace(folder, _no_program).create_stack(name)

    def _cancel(self, name: str) -> None:
        with _told_errors(EventLog()), self._work_folder(name) as folder:
            self._command.run(["cancel", "--yes", "--stack", name], str(folder), self._environment)

    def _work_folder(self, stack: str, record: UpdateRecord | None = None) -> AbstractContextManager[Path]:
        return work_folder(self._run_dir, stack, self._salt, record)

    def _new_salt(self) -> str:
        """One salt for all stacks: deriving the key takes the CLI 0.2 s for each new one."""
        name = "salt"
        with work_folder(self._run_dir, name, None) as folder:
            scratch = {**self._environment, "PULUMI_BACKEND_URL": f"file://{folder}"}
            self._command.run(["stack", "init", name, "--no-select"], str(folder), scratch)
            return salt_in(folder, name)

    def _workspace(self, folder: Path, program: Program) -> LocalWorkspace:
        return LocalWorkspace(
            work_dir=str(folder),
            program=program,
            env_vars=self._environment,
            pulumi_command=self._command,
        )


@contextmanager
def _told_errors(events: EventLog) -> Iterator[None]:
    """The vendor's errors, and the disk's, become ours."""
    try:
        yield
    except CommandError as error:
        raise stack_error(str(error), tuple(events.errors)) from None
    except OSError as error:
        raise StorageFailed(f"this process cannot keep its files: {error}") from None


def _program(desired: DesiredState) -> Program:
    def program() -> None:
        TenantResources(desired.tenant, desired)

    return program


def _no_program() -> None:
    """For operations that need no program: with none at all, the CLI starts a language host."""
