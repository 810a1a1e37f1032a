"""The sessions' own queue and threads, beside those of the tenants: neither waits for the other.

Wired by `app`, which also wakes it when a quota, a Tenant or the plans have changed.
"""

import threading
import time
from collections.abc import Mapping
from typing import Final

import structlog

from cluster.client import Cluster, ClusterError
from cluster.informer import Informer
from cluster.plans_in_force import LivePlans
from cluster.tenants import Tenants
from watcher.queue import TenantQueue
from watcher.sessions.live_sessions import LiveSessions
from watcher.sessions.reconcile import Turns
from watcher.sessions.refused_starts import Refusals
from watcher.sessions.start import Starter

log = structlog.get_logger(__name__)

_WORKERS: Final = 2
# For how long changes are gathered: a Job and its pod make many, and one look at the tenant does for all.
_GATHER_S: Final = 0.1


class SessionController:
    def __init__(
        self, cluster: Cluster, tenants: Tenants, plans: LivePlans, namespaces: Informer, retry_s: float
    ) -> None:
        """`retry_s`: the first wait after a refused start."""
        self._queue = TenantQueue()
        self._live = LiveSessions(cluster, namespaces, self.wake)
        refusals = Refusals(retry_s)
        starter = Starter(cluster, self._live, refusals, tenants, plans, retry_s)
        self._turns = Turns(cluster, self._live, refusals, starter, plans)
        self._plans = plans
        self._others = (namespaces, *tenants.informers)
        self._workers = [
            threading.Thread(target=self._work, name=f"sessions {number}", daemon=True)
            for number in range(_WORKERS)
        ]

    def start(self) -> None:
        """Returns at once."""
        for informer in self._live.informers:
            informer.start()
        threading.Thread(target=self._start_workers, name="start sessions", daemon=True).start()

    def stop(self, limit_s: float) -> None:
        """Takes no more work, and waits this long for the end of what is under way."""
        self._queue.close()
        for informer in self._live.informers:
            informer.stop()
        deadline = time.monotonic() + limit_s
        for worker in self._workers:
            if worker.ident is not None:
                worker.join(max(0.0, deadline - time.monotonic()))

    def wake(self, tenant: str) -> None:
        """Has the tenant's sessions looked at: one has changed, or what they wait for may have come."""
        self._queue.add(tenant, _GATHER_S)

    def phases(self) -> Mapping[str, int]:
        return self._live.phases()

    @property
    def informers(self) -> tuple[Informer, ...]:
        return self._live.informers

    @property
    def threads(self) -> list[threading.Thread]:
        return [*self._live.informers, *self._workers]

    def _start_workers(self) -> None:
        # Who saw half of the Jobs would start too many.
        for informer in (*self._others, *self._live.informers):
            informer.is_synced.wait()
        self._plans.is_loaded.wait()
        for worker in self._workers:
            worker.start()

    def _work(self) -> None:
        while (tenant := self._queue.take()) is not None:
            try:
                again_after_s = self._turns.turn(tenant)
            except ClusterError as error:
                retry_after_s = self._queue.failed(tenant)
                log.warning(
                    "sessions not looked at", tenant=tenant, problem=str(error), retry_after_s=retry_after_s
                )
            except Exception:
                retry_after_s = self._queue.failed(tenant)
                log.exception("turn of sessions broke", tenant=tenant, retry_after_s=retry_after_s)
            else:
                self._queue.done(tenant)
                if again_after_s is not None:
                    self._queue.add(tenant, again_after_s)
