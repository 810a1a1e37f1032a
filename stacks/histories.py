"""Reads and prunes the histories of all tenants, and stores the histories of deleted tenants."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import structlog

from stacks.cli import PulumiCli
from stacks.command import PulumiProcess
from stacks.errors import StackError, StackNotFound
from stacks.history import Update, updates_from_entries
from stacks.operation import translated_errors
from stacks.project import work_folder
from stacks.result import EventLog
from stacks.storage.deleted_tenants import DeletedTenants
from stacks.storage.objects import Objects
from stacks.storage.pruning import HistoryLimits, Pruned, prune_stacks
from tenancy.base.manifest import Manifest
from tenancy.base.names import stack_name
from tenancy.history.deleted_tenant import deleted_tenant

log = structlog.get_logger(__name__)


class Histories:
    """The histories of the stacks in one backend. Thread-safe.

    The commands that this class runs get the environment variables in `environment`. They store temporary
    files in `run_dir`.
    """

    def __init__(
        self,
        objects: Objects,
        run_dir: Path,
        environment: Mapping[str, str],
        command: PulumiProcess,
        cli: PulumiCli,
    ) -> None:
        self._environment = environment
        self._command = command
        self._cli = cli
        self._run_dir = run_dir
        self.deleted = DeletedTenants(objects)

    def updates(self, tenant: str) -> list[Update]:
        """The updates of a tenant's stack, newest first."""
        return updates_from_entries(self._cli.history(stack_name(tenant)))

    def prune(self, tenants: Sequence[str], limits: HistoryLimits) -> list[Pruned]:
        """Remove the updates that exceed the limits from the histories of these tenants' stacks.

        If an operation is running on a stack, this stack is not pruned. If an operation of this process
        starts while its stack is being pruned, the operation waits.
        """
        names = [stack_name(tenant) for tenant in tenants]
        with translated_errors(EventLog()), work_folder(self._run_dir, "prune", None) as folder:
            return prune_stacks(self._command, folder, self._environment, names, limits)

    def keep_deleted(self, tenant: Manifest) -> None:
        """Store the spec and the history of a Tenant that is being deleted. Call this before `destroy`.

        If the history cannot be read, stores only the spec. You can call the method again. If the history can
        no longer be read, for example because the stack is destroyed, the method keeps the stored history.
        """
        with translated_errors(EventLog()):
            try:
                entries = self._cli.history(stack_name(tenant["metadata"]["name"]))
            except StackError as error:
                if self.deleted.get(tenant["metadata"]["uid"]):
                    return
                # Without this handler, a history that cannot be read would block the deletion of the Tenant.
                if not isinstance(error, StackNotFound):
                    log.warning("history of a deleted tenant not kept", problem=str(error))
                entries = []
            self.deleted.put(deleted_tenant(tenant, entries))
