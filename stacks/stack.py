"""Operations on a tenant's stack: up, destroy, preview, refresh, history, export.

The warm engine (see `stacks.engine`) runs the operations. If it is not available, each operation runs one CLI
process. An operation returns a result, or raises a StackError.
"""

import contextlib
import time
from pathlib import Path
from typing import Final

import structlog

from stacks.backend import backend_url, file_backend_folder, is_passphrase_backend
from stacks.cli import PulumiCli
from stacks.command import PulumiProcess, kill_leftover_commands
from stacks.engine.binary import NO_PULUMI_CLOUD
from stacks.engine.warm import WarmEngine
from stacks.errors import (
    EngineCrashed,
    EngineUnavailable,
    Lock,
    StackBusy,
    StackNotFound,
    StackStopped,
    StackTimeout,
)
from stacks.histories import Histories
from stacks.history import Update
from stacks.operation import ENVIRONMENT, EngineName, Operation, translated_errors
from stacks.ownership.cluster_record import ClusterRecord
from stacks.ownership.lock import is_abandoned
from stacks.project import clear_run_folder, create_pulumi_home, lock_run_folder, save_salt, saved_salt
from stacks.result import EventLog, StackResult
from stacks.state import objects_from_export
from tenancy.base.manifest import Manifest
from tenancy.base.names import stack_name
from tenancy.changes import UpdateRecord
from tenancy.desired import DesiredState
from tenancy.leaders import Leadership

log = structlog.get_logger(__name__)

# If the warm engine crashes this many times during an operation, the CLI runs the operation.
_MAX_CRASHES: Final = 2
# While the history of a stack is being pruned, an operation on the stack tries again: how often, how long.
_PRUNING_WAITS: Final = 20
_PRUNING_WAIT_S: Final = 0.1


class Stacks:
    """The stacks of all tenants in one backend. Operations on different stacks can run in parallel."""

    def __init__(
        self, url: str, run_dir: Path, command: PulumiProcess, engine: EngineName = EngineName.CLI
    ) -> None:
        self._backend_url = backend_url(url)
        self._run_dir = run_dir.absolute()
        self._command = command
        self._environment = {**ENVIRONMENT, "PULUMI_BACKEND_URL": self._backend_url}
        self._cli = PulumiCli(self._backend_url, self._run_dir, command, self._environment)
        self._engine_name = engine
        # Set by `prepare` if the warm engine is selected, and a passphrase encrypts the backend's secrets.
        self.engine: WarmEngine | None = None
        # The leaders until now. Locks of former leaders can be cleared. The watcher sets it when it leads.
        self.leadership = Leadership()
        self.cluster_record = ClusterRecord(self._backend_url, self._cli)
        self.histories = Histories(self._backend_url, self._run_dir, self._environment, command, self._cli)

    def prepare(self) -> None:
        """Prepare the folder `run_dir`. Call this method once, before the first operation.

        The method locks the folder. It kills the processes and deletes the work folders of an earlier run.
        """
        with translated_errors(EventLog()):
            self._lock = lock_run_folder(self._run_dir)
            if killed := kill_leftover_commands(self._run_dir):
                log.warning("killed processes of an earlier run", count=killed)
            clear_run_folder(self._run_dir)
            self._environment["PULUMI_HOME"] = str(create_pulumi_home(self._run_dir))
            if is_passphrase_backend(self._backend_url):
                self._prepare_key()
        if self.engine is None and self.engine_problem:
            log.warning("using the Pulumi CLI instead of the warm engine", problem=self.engine_problem)

    def _prepare_key(self) -> None:
        """Use one salt for all stacks and runs. Then each process derives the encryption key only once."""
        folder = file_backend_folder(self._backend_url) or self._run_dir
        salt = saved_salt(folder)
        if salt is None:
            salt = self._cli.new_salt()
            with contextlib.suppress(OSError):
                save_salt(folder, salt)
        self._cli.salt = salt
        if self._engine_name is EngineName.WARM:
            self.engine = WarmEngine(self._run_dir, self._environment, salt)

    def stop(self) -> None:
        """Cancel all running operations. After this call, new operations raise StackStopped."""
        self._command.stop()
        if self.engine:
            self.engine.cancel_all()

    def kill(self) -> None:
        """Kill all processes that run operations. Their stacks stay locked until the locks are cleared."""
        kill_leftover_commands(self._run_dir)

    def close(self) -> None:
        """End the warm engine. The engine also ends if this process ends without calling `close`."""
        if self.engine:
            self.engine.close()

    @property
    def engine_problem(self) -> str | None:
        """Why the warm engine cannot be used. None if it can be used, or if the CLI is selected."""
        if self._engine_name is EngineName.WARM and not is_passphrase_backend(self._backend_url):
            return NO_PULUMI_CLOUD
        return self.engine.problem if self.engine else None

    def notes(self) -> list[str]:
        """One message if the CLI runs operations, because the warm engine cannot be used. Otherwise empty."""
        problem = self.engine_problem
        return [f"using the Pulumi CLI instead of the warm engine: {problem}"] if problem else []

    def served_kinds_changed(self) -> None:
        """Make the next operation start a new provider process. Call this if the served kinds changed."""
        if self.engine:
            self.engine.evict_providers()

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
        operation = Operation("up", name, message, record, desired, refresh)
        try:
            result = self._operate(operation)
        except StackNotFound:
            self._cli.create_stack(name)
            result = self._operate(operation)
        if result.has_pending_operations:
            # `up` adopts the objects of pending operations. It does not remove the operations from the state.
            try:
                self.refresh(desired.tenant, "clears operations that a killed process left pending")
            except StackBusy as busy:
                log.warning("pending operations not cleared", stack=name, problem=str(busy))
        return result

    def preview(self, desired: DesiredState, *, refresh: bool = False) -> StackResult:
        """Compute the changes that `up` would make. Changes neither the objects nor the stack."""
        name = stack_name(desired.tenant)
        return self._operate(Operation("preview", name, desired=desired, refresh=refresh))

    def refresh(self, tenant: str, message: str) -> StackResult:
        """Update the stack's state from the live objects, and remove pending creations from the state."""
        return self._operate(Operation("refresh", stack_name(tenant), message))

    def destroy(self, tenant: str, message: str) -> StackResult | None:
        """Delete all objects of the stack, then remove the stack. Return None if there is no stack."""
        try:
            return self._operate(Operation("destroy", stack_name(tenant), message))
        except StackNotFound:
            return None

    def history(self, tenant: str) -> list[Update]:
        """The stack's updates, newest first. Takes no lock. Can be called without `prepare`."""
        return self.histories.updates(tenant)

    def objects(self, tenant: str) -> list[Manifest]:
        """The objects in the stack's state. Takes no lock. Can be called without `prepare`."""
        return objects_from_export(self._cli.run(stack_name(tenant), "stack", "export"))

    def forget(self, tenant: str) -> None:
        """Remove the stack, if there is one, and its history from the backend. Deletes no objects."""
        try:
            self._cli.run(stack_name(tenant), "stack", "rm", "--force", "--yes")
        except StackNotFound:
            return

    def _operate(self, operation: Operation) -> StackResult:
        """Run the operation. Retry if the engine crashes, or if a process ended without removing its lock."""
        crashes, waits, is_cleared = 0, 0, False
        while True:
            try:
                # After several crashes, use the CLI, because the operation may be the cause of the crashes.
                return self._attempt(operation, with_engine=crashes < _MAX_CRASHES)
            except EngineCrashed as error:
                log.warning("operation interrupted", stack=operation.stack, problem=str(error))
                crashes, is_cleared = crashes + 1, False
            except StackBusy as busy:
                if waits < _PRUNING_WAITS and self._are_pruning(busy.locks):
                    waits += 1
                    time.sleep(_PRUNING_WAIT_S)
                    continue
                if is_cleared or not self._are_unused(operation.stack, busy.locks):
                    advice = f"if this process no longer runs, run: pulumi cancel --stack {operation.stack}"
                    raise StackBusy(f"{busy}; {advice}", busy.locks) from None
                log.warning("clearing a dead process's lock", stack=operation.stack, locks=len(busy.locks))
                self._cli.run(operation.stack, "cancel", "--yes")
                is_cleared = True

    def _are_pruning(self, locks: tuple[Lock, ...]) -> bool:
        """Whether the locks belong to running commands of this process. These commands prune histories."""
        return bool(locks) and all(self._command.is_running(lock.pid) for lock in locks)

    def _are_unused(self, stack: str, locks: tuple[Lock, ...]) -> bool:
        """Whether the operations that took the locks have all ended, so that the locks can be removed."""
        return bool(locks) and all(
            is_abandoned(lock, self.leadership)
            or (self.engine is not None and self.engine.is_idle(lock.pid, stack))
            for lock in locks
        )

    def _attempt(self, operation: Operation, *, with_engine: bool) -> StackResult:
        started = time.monotonic()
        events = self._events_of_engine(operation) if with_engine else None
        events = events or self._cli.operate(operation)
        return StackResult(
            stack=operation.stack,
            operation=operation.name,
            counts=events.counts,
            duration_s=round(time.monotonic() - started, 3),
            version=events.version,
            has_pending_operations=events.has_pending_operations,
        )

    def _events_of_engine(self, operation: Operation) -> EventLog | None:
        """Run the operation with the warm engine. Return None if the engine is not available."""
        if self.engine is None:
            return None
        if self._command.is_stopping():
            raise StackStopped(f"{operation.name} was not started, because this process is stopping")
        try:
            return self.engine.operate(operation, self._command.timeout_s)
        except EngineUnavailable:
            return None
        except StackTimeout:
            if not self._command.is_stopping():
                raise
            problem = f"{operation.name} was interrupted, because this process is stopping"
            raise StackStopped(problem) from None
