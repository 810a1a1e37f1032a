"""Removes old updates from the Pulumi histories of the tenants' stacks.

A background service prunes a stack's history in two cases:

- The history contains 10 % more updates than `--keep-updates`.
- The last pruning was a day ago. In the meantime, updates may have become older than `--keep-days`.

Once per day, the service also removes the expired histories of deleted tenants.
"""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import structlog

from stacks.errors import StackError, StackStopped
from stacks.histories import Histories
from stacks.storage.pruning import HistoryLimits
from tenancy.base.manifest import Manifest
from tenancy.base.names import stack_name
from watcher.service import Service

log = structlog.get_logger(__name__)

_DAY_S: Final = 86_400.0
# The maximum number of stacks that one `prune` command handles.
_BATCH: Final = 500


@dataclass
class _History:
    """Data about the history of one stack. `version` is Pulumi's number of the newest update, e.g. 12."""

    version: int
    # How many updates were removed from the history until now. None if this is unknown.
    removed: int | None = None
    # The value of `time.monotonic()` at the last pruning. None if this process has not pruned the history.
    pruned_at_s: float | None = None


class HistoryPruner(Service):
    """Prunes histories on its own thread. Any thread can call `notice`."""

    def __init__(self, histories: Histories, limits: HistoryLimits, period_s: float = 60.0) -> None:
        super().__init__("history pruner")
        self._stored = histories
        self._limits = limits
        self._period_s = period_s
        self._max_updates = limits.updates + max(1, limits.updates // 10)
        self._histories: dict[str, _History] = {}
        self._guard = threading.Lock()
        self._is_due = threading.Event()
        self._problem = ""
        self._expired_at_s: float | None = None

    def notice(self, before: Manifest | None, after: Manifest | None) -> None:
        """Store the number of the newest update of a Tenant's stack, from `status.lastUpdate.version`.

        `before` and `after` are the Tenant before and after a change. `before` is None if the Tenant is new,
        and `after` is None if the Tenant was deleted.
        """
        name = (after or before or {})["metadata"]["name"]
        with self._guard:
            if after is None:
                self._histories.pop(name, None)
                return
            version = ((after.get("status") or {}).get("lastUpdate") or {}).get("version") or 0
            # The history of a new Tenant is empty. If the Tenant is older than this process, the number of
            # removed updates is unknown until the first pruning.
            is_new = before is None and version == 0
            default = _History(0, 0, time.monotonic()) if is_new else _History(version)
            history = self._histories.setdefault(name, default)
            history.version = version
            if self._is_full(history):
                self._is_due.set()

    def stop(self) -> None:
        super().stop()
        self._is_due.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._is_due.wait(self._period_s)
            self._is_due.clear()
            if self._stopping.is_set():
                return
            try:
                self._prune()
                self._remove_expired()
                self._problem = ""
            except StackStopped:
                return
            except (StackError, OSError) as error:
                if str(error) != self._problem:
                    log.warning("history not pruned", problem=str(error))
                self._problem = str(error)
            except Exception:
                log.exception("background task failed", task=self.name, retry_after_s=self._period_s)

    def _prune(self) -> None:
        due = list(self._due())
        for start in range(0, len(due), _BATCH):
            tenants = {stack_name(name): name for name in due[start : start + _BATCH]}
            with self._guard:
                versions = {name: history.version for name, history in self._histories.items()}
            for result in self._stored.prune(list(tenants.values()), self._limits):
                name = tenants[result.stack]
                if result.problem:
                    log.debug("history not pruned", tenant=name, problem=result.problem)
                    continue
                if result.removed:
                    log.info("history pruned", tenant=name, removed=result.removed, kept=result.kept)
                with self._guard:
                    if history := self._histories.get(name):
                        history.removed = max(0, versions.get(name, 0) - result.kept)
                        history.pruned_at_s = time.monotonic()

    def _due(self) -> Iterator[str]:
        now_s = time.monotonic()
        with self._guard:
            histories = dict(self._histories)
        for name, history in histories.items():
            is_old = history.pruned_at_s is None or now_s - history.pruned_at_s >= _DAY_S
            if is_old or self._is_full(history):
                yield name

    def _is_full(self, history: _History) -> bool:
        return history.removed is not None and history.version - history.removed >= self._max_updates

    def _remove_expired(self) -> None:
        """Once per day, remove the expired histories of deleted tenants."""
        now_s = time.monotonic()
        if self._expired_at_s is None or now_s - self._expired_at_s >= _DAY_S:
            self._stored.deleted.remove_expired(datetime.now(UTC))
            self._expired_at_s = now_s
