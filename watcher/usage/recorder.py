"""Records the quota usage of every tenant once per minute (`--usage-record-period`), on a separate thread.

A failed write does not affect the rest of the watcher. The recorder tries again in the next period. If the
file cannot be written for the same reason several times in a row, the recorder logs the reason only once.
"""

import time
from collections.abc import Callable, Iterable

import structlog

from cluster.live_objects import ManagedObjects
from tenancy.base.quantity import quantity_value
from tenancy.usage import namespace_amounts
from watcher.service import PeriodicService
from watcher.usage.database import UsageUnavailable
from watcher.usage.hours import Series
from watcher.usage.store import UsageAmounts, UsageStore

log = structlog.get_logger(__name__)


class UsageRecorder(PeriodicService):
    def __init__(
        self,
        store: UsageStore,
        managed: ManagedObjects,
        names: Callable[[], Iterable[str]],
        period_s: float = 60.0,
    ) -> None:
        super().__init__("record usage", lambda: self.record(int(time.time())), period_s)
        self._store = store
        self._managed = managed
        self._names = names
        self._problem = ""

    def is_recording(self) -> bool:
        """Whether the last write succeeded. True before the first write."""
        return not self._problem

    def record(self, now_s: int) -> None:
        """Record the current quota usage with the Unix time `now_s`. Errors are logged and not raised."""
        try:
            self._store.record(now_s, self._amounts())
            self._store.compact(now_s)
            problem = ""
        except UsageUnavailable as error:
            problem = str(error)
        except Exception as error:
            # Catch unexpected errors too, so that `is_recording` reports them.
            log.exception("usage record failed", retry_after_s=self._period_s)
            problem = f"{type(error).__name__}: {error}"
        if problem and problem != self._problem:
            log.warning("usage not recorded", problem=problem, retry_after_s=self._period_s)
        elif self._problem and not problem:
            log.info("usage is recorded again")
        self._problem = problem

    def _amounts(self) -> UsageAmounts:
        return {
            Series(name, namespace, resource): (
                float(quantity_value(amount.used)),
                float(quantity_value(amount.hard)),
            )
            for name in self._names()
            for namespace, amounts in namespace_amounts(self._managed.of(name)).items()
            for resource, amount in amounts.items()
        }
