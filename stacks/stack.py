"""Operations on a tenant's stack: up, destroy, preview, refresh, history, export.

An operation normally runs one CLI process. `Stacks` takes a desired state, and returns a result or raises a
StackError. `Stacks` does not use Tenant manifests or their status.
"""

import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

import structlog
from pulumi.automation import LocalWorkspace, Stack

from stacks.backend import (
    backend_url,
    create_stack_in_file_backend,
    is_passphrase_backend,
)
from stacks.command import PulumiProcess, kill_leftover_commands
from stacks.errors import StackBusy, StackNotFound
from stacks.histories import Histories
from stacks.history import Update
from stacks.lock import is_abandoned
from stacks.operation import (
    ENVIRONMENT,
    OneProcessStack,
    Operation,
    Program,
    no_program,
    tenant_program,
    translated_errors,
)
from stacks.project import (
    clear_run_folder,
    create_pulumi_home,
    encryption_salt,
    lock_run_folder,
    work_folder,
)
from stacks.result import EventLog, StackResult
from stacks.state import objects_from_export
from stacks.storage.history_files import newest_version
from tenancy.base.manifest import Manifest
from tenancy.base.names import stack_name
from tenancy.changes import UpdateRecord
from tenancy.desired import DesiredState

log = structlog.get_logger(__name__)


# How often an operation waits for the pruning of its stack's history, and for how long.
_PRUNING_RETRIES: Final = 20
_PRUNING_WAIT_S: Final = 0.1
_QUIET: Final[dict[str, Any]] = {"color": "never", "suppress_outputs": True, "suppress_progress": True}


class Stacks:
    """The stacks of all tenants in one backend. Operations on different stacks can run in parallel."""

    def __init__(self, url: str, run_dir: Path, command: PulumiProcess) -> None:
        self._backend_url = backend_url(url)
        self._run_dir = run_dir.absolute()
        self._command = command
        self._environment = {**ENVIRONMENT, "PULUMI_BACKEND_URL": self._backend_url}
        self._salt: str | None = None
        self.histories = Histories(self._backend_url, self._run_dir, self._environment, command)

    def prepare(self) -> None:
        """Prepare the folder `run_dir`. Call this method once, before the first operation.

        The method locks the folder, and kills processes that an earlier run left behind. Then it deletes the
        work folders of the earlier run.
        """
        with translated_errors(EventLog()):
            self._lock = lock_run_folder(self._run_dir)
            if killed := kill_leftover_commands(self._run_dir):
                log.warning("killed processes of an earlier run", count=killed)
            clear_run_folder(self._run_dir)
            self._environment["PULUMI_HOME"] = str(create_pulumi_home(self._run_dir))
            if is_passphrase_backend(self._backend_url):
                self._salt = self._create_salt()

    def up(
        self,
        desired: DesiredState,
        message: str,
        record: UpdateRecord | None = None,
        *,
        refresh: bool = False,
    ) -> StackResult:
        """Apply the desired state.

        If `refresh` is true, the stack's state is first updated from the live objects. Pulumi stores
        `message` and `record` in the stack's history.
        """
        name = stack_name(desired.tenant)

        def run(stack: Stack, events: EventLog) -> None:
            create_stack_in_file_backend(self._backend_url, name)
            stack.up(message=message, refresh=refresh, on_event=events.add, **_QUIET)

        operation = Operation("up", name, tenant_program(desired), run, record)
        try:
            result = self._operate(operation)
        except StackNotFound:
            self._create(name)
            result = self._operate(operation)
        if result.has_pending_operations:
            # `up` adopts the objects of pending operations, but keeps the operations in the state.
            try:
                self.refresh(desired.tenant, "clears operations that a killed process left pending")
            except StackBusy as busy:
                log.warning("pending operations not cleared", stack=name, problem=str(busy))
        return result

    def preview(self, desired: DesiredState, *, refresh: bool = False) -> StackResult:
        """The changes that `up` would make. The method itself changes nothing."""

        def run(stack: Stack, events: EventLog) -> None:
            stack.preview(refresh=refresh, on_event=events.add, **_QUIET)

        return self._operate(Operation("preview", stack_name(desired.tenant), tenant_program(desired), run))

    def refresh(self, tenant: str, message: str) -> StackResult:
        """Update the stack's state from the live objects, and remove pending creates from the state."""

        def run(stack: Stack, events: EventLog) -> None:
            stack.refresh(message=message, clear_pending_creates=True, on_event=events.add, **_QUIET)

        return self._operate(Operation("refresh", stack_name(tenant), no_program, run))

    def destroy(self, tenant: str, message: str) -> StackResult | None:
        """Delete all objects of the stack, then the stack. Return None if there is no stack."""

        def run(stack: Stack, events: EventLog) -> None:
            stack.destroy(message=message, on_event=events.add, **_QUIET)

        try:
            return self._operate(Operation("destroy", stack_name(tenant), no_program, run))
        except StackNotFound:
            return None

    def history(self, tenant: str) -> list[Update]:
        """The stack's updates, newest first. The method works without `prepare`.

        It takes no lock, and changes nothing in the backend.
        """
        return self.histories.updates(tenant)

    def objects(self, tenant: str) -> list[Manifest]:
        """The objects in the stack's state. The method works without `prepare`.

        It takes no lock, and changes nothing in the backend.
        """
        name = stack_name(tenant)
        with translated_errors(EventLog()), self._work_folder(name) as folder:
            arguments = ["stack", "export", "--stack", name]
            result = self._command.run(arguments, str(folder), self._environment)
        return objects_from_export(result.stdout)

    def forget(self, tenant: str) -> None:
        """Remove the stack and its history, but keep the objects in the cluster.

        Do nothing if there is no stack.
        """
        name = stack_name(tenant)
        try:
            with translated_errors(EventLog()), self._work_folder(name) as folder:
                arguments = ["stack", "rm", "--force", "--yes", "--stack", name]
                self._command.run(arguments, str(folder), self._environment)
        except StackNotFound:
            return

    def _operate(self, operation: Operation, retries: int = _PRUNING_RETRIES) -> StackResult:
        """Run the operation. If only ended processes hold locks on the stack, clear the locks and retry.

        If a command of this process holds the lock, it prunes the stack's history. Then wait and retry.
        """
        try:
            return self._attempt(operation)
        except StackBusy as busy:
            if retries and busy.locks and all(self._command.is_running(lock.pid) for lock in busy.locks):
                time.sleep(_PRUNING_WAIT_S)
                return self._operate(operation, retries - 1)
            if not busy.locks or not all(is_abandoned(lock) for lock in busy.locks):
                advice = f"if that process is gone, run: pulumi cancel --stack {operation.stack}"
                raise StackBusy(f"{busy}; {advice}", busy.locks) from None
            log.warning("clearing a dead process's lock", stack=operation.stack, locks=len(busy.locks))
            self._cancel(operation.stack)
            return self._attempt(operation)

    def _attempt(self, operation: Operation) -> StackResult:
        events = EventLog()
        started = time.monotonic()
        with translated_errors(events), self._work_folder(operation.stack, operation.record) as folder:
            stack = OneProcessStack(operation.stack, self._workspace(folder, operation.program))
            operation.run(stack, events)
            has_history = operation.name in ("up", "refresh")
            version = newest_version(self._backend_url, stack) if has_history else None
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
        with translated_errors(EventLog()), self._work_folder(name) as folder:
            self._workspace(folder, no_program).create_stack(name)

    def _cancel(self, name: str) -> None:
        with translated_errors(EventLog()), self._work_folder(name) as folder:
            self._command.run(["cancel", "--yes", "--stack", name], str(folder), self._environment)

    def _work_folder(self, stack: str, record: UpdateRecord | None = None) -> AbstractContextManager[Path]:
        return work_folder(self._run_dir, stack, self._salt, record)

    def _create_salt(self) -> str:
        """Create one salt for all stacks. For each new salt, the CLI takes 0.2 s to derive a key."""
        name = "salt"
        with work_folder(self._run_dir, name, None) as folder:
            scratch = {**self._environment, "PULUMI_BACKEND_URL": f"file://{folder}"}
            self._command.run(["stack", "init", name, "--no-select"], str(folder), scratch)
            return encryption_salt(folder, name)

    def _workspace(self, folder: Path, program: Program) -> LocalWorkspace:
        return LocalWorkspace(
            work_dir=str(folder),
            program=program,
            env_vars=self._environment,
            pulumi_command=self._command,
        )
