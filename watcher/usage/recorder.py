"""Records what every tenant uses, each minute by default. A thread of the watcher.

It never stops the watcher: a failed write is logged once and tried again in the next period.
"""

import threading
import time
from collections.abc import Callable, Iterable

import structlog

from cluster.live_objects import ManagedObjects
from tenancy.base.quantity import quantity_value
from tenancy.usage import namespace_amounts
from watcher.usage.database import UsageUnavailable
from watcher.usage.hours import Series
from watcher.usage.store import Figures, UsageStore

log = structlog.get_logger(__name__)


class UsageRecorder:
    def __init__(
        self,
        store: UsageStore,
        managed: ManagedObjects,
        names: Callable[[], Iterable[str]],
        period_s: float = 60.0,
    ) -> None:
        self.thread = threading.Thread(target=self._keep, name="record usage", daemon=True)
        self._store = store
        self._managed = managed
        self._names = names
        self._period_s = period_s
        self._stopping = threading.Event()
        self._problem = ""

    def start(self) -> None:
        """Called once the whole cluster has been seen: what is not known yet would count as gone."""
        self.thread.start()

    def stop(self) -> None:
        self._stopping.set()

    def is_recording(self) -> bool:
        """Whether the last record could be written; before the first, nothing speaks against it."""
        return not self._problem

    def record(self, now_s: int) -> None:
        try:
            self._store.record(now_s, self._figures())
            self._store.compact(now_s)
            problem = ""
        except UsageUnavailable as error:
            problem = str(error)
        except Exception as error:
            # A file that nobody thought of: without the thread, the whole watcher would count as ill.
            log.exception("record of usage broke", retry_after_s=self._period_s)
            problem = f"{type(error).__name__}: {error}"
        if problem and problem != self._problem:
            log.warning("usage not recorded", problem=problem, retry_after_s=self._period_s)
        elif self._problem and not problem:
            log.info("usage is recorded again")
        self._problem = problem

    def _figures(self) -> Figures:
        return {
            Series(name, namespace, resource): (
                float(quantity_value(amount.used)),
                float(quantity_value(amount.hard)),
            )
            for name in self._names()
            for namespace, amounts in namespace_amounts(self._managed.of(name)).items()
            for resource, amount in amounts.items()
        }

    def _keep(self) -> None:
        while True:
            self.record(int(time.time()))
            if self._stopping.wait(self._period_s):
                return
