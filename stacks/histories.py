"""The histories of all tenants: reads them, prunes them, and keeps those of deleted tenants."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import structlog

from stacks.command import PulumiProcess
from stacks.errors import StackError, StackNotFound
from stacks.history import Update, updates_from_entries
from stacks.operation import translated_errors
from stacks.project import work_folder
from stacks.result import EventLog
from stacks.storage.deleted_tenants import deleted_tenants
from stacks.storage.history_files import Entry, file_history
from stacks.storage.pruning import HistoryLimits, Pruned, prune_stacks
from tenancy.base.manifest import Manifest
from tenancy.base.names import stack_name
from tenancy.history.deleted_tenant import deleted_tenant

log = structlog.get_logger(__name__)


class Histories:
    """The histories in one backend. Thread-safe.

    `environment` contains the variables of commands. The folders of commands are in `run_dir`.
    """

    def __init__(
        self,
        url: str,
        run_dir: Path,
        environment: Mapping[str, str],
        command: PulumiProcess,
    ) -> None:
        self._url = url
        self._environment = environment
        self._command = command
        self._run_dir = run_dir
        # The store of deleted tenants. None if the backend has no store.
        self.deleted = deleted_tenants(url)

    def updates(self, tenant: str) -> list[Update]:
        """The updates of a tenant's stack, newest first."""
        return updates_from_entries(self._entries(stack_name(tenant)))

    def prune(self, tenants: Sequence[str], limits: HistoryLimits) -> list[Pruned]:
        """Remove old updates from the histories of these tenants.

        A stack with a running update is not pruned. An update that starts while its stack is being pruned
        waits.
        """
        names = [stack_name(tenant) for tenant in tenants]
        with translated_errors(EventLog()), work_folder(self._run_dir, "prune", None) as folder:
            return prune_stacks(self._command, folder, self._environment, names, limits)

    def keep_deleted(self, tenant: Manifest) -> None:
        """Store the spec and the history of a Tenant that is being deleted. Call this before `destroy`.

        Does nothing if the backend has no store. The method can be repeated, also after the stack is
        destroyed.
        """
        if self.deleted is None:
            return
        with translated_errors(EventLog()):
            try:
                entries = self._entries(stack_name(tenant["metadata"]["name"]))
            except StackNotFound:
                if self.deleted.get(tenant["metadata"]["uid"]):
                    return
                entries = []
            except StackError as error:
                # A history that cannot be read must not block the deletion.
                log.warning("history of a deleted tenant not kept", problem=str(error))
                entries = []
            self.deleted.put(deleted_tenant(tenant, entries))

    def _entries(self, name: str) -> list[Entry]:
        with translated_errors(EventLog()):
            if (entries := file_history(self._url, name)) is not None:
                return entries
        with translated_errors(EventLog()), work_folder(self._run_dir, name, None) as folder:
            # By default, the CLI returns only the newest 10 updates. A page size of 0 returns all updates.
            arguments = ["stack", "history", "--json", "--full-dates", "--page-size", "0", "--stack", name]
            result = self._command.run(arguments, str(folder), self._environment)
        history: list[Entry] = json.loads(result.stdout)
        return history
