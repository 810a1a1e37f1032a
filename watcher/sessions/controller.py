"""The controller of AISessions. It has its own queue and worker threads, separate from those for Tenants.

The queue contains names of tenants. A worker reconciles all AISessions of one tenant at once.
"""

import threading
from collections.abc import Callable, Mapping
from typing import Final

from cluster.client import Cluster
from cluster.informer import Informer
from cluster.live_objects import ManagedObjects
from cluster.plans_in_force import LivePlans
from cluster.tenants import Tenants
from tenancy.base.backoff import SESSION_START, Backoff
from tenancy.sessions.row import SessionRow
from watcher.queue import TenantQueue
from watcher.service import QueueWorkers
from watcher.sessions.live_sessions import LiveSessions
from watcher.sessions.reconcile import SessionReconciler
from watcher.sessions.start import Starter
from watcher.sessions.start_backoff import StartBackoff

_WORKERS: Final = 2
# The delay between a change and the reconcile. A Job and its pod change several times in a short time, and
# one reconcile then handles all of these changes.
_GATHER_S: Final = 0.1


class SessionController:
    def __init__(
        self,
        cluster: Cluster,
        tenants: Tenants,
        plans: LivePlans,
        namespaces: Informer,
        managed: ManagedObjects,
        retry_s: float,
    ) -> None:
        """`retry_s` is the retry delay after the API server first rejects a session's Job or pod.

        `namespaces` is the informer of the namespaces that belong to tenants.
        """
        self._queue = TenantQueue()
        self._live = LiveSessions(cluster, namespaces, self.wake)
        backoff = StartBackoff(Backoff(retry_s, retry_s * SESSION_START.last_s / SESSION_START.first_s))
        starter = Starter(cluster, self._live, backoff, tenants, plans, retry_s)
        self._reconciler = SessionReconciler(cluster, self._live, backoff, starter, plans, managed)
        self._plans = plans
        self._is_takeover = False
        self._shared_informers = (namespaces, *tenants.informers)
        self.workers = QueueWorkers("sessions", self._queue, self._reconciler.reconcile, count=_WORKERS)

    def start(self) -> None:
        """Start the informers, and return at once."""
        for informer in self._live.informers:
            informer.start()

    def start_workers(self, *, is_takeover: bool) -> None:
        """Start the workers when all informers are synced and the plans are loaded. Returns at once.

        `is_takeover` says whether another watcher was the leader after the informers were started.
        """
        self._is_takeover = is_takeover
        threading.Thread(target=self._start_workers, name="start sessions", daemon=True).start()

    def wake(self, tenant: str) -> None:
        """Queue a tenant, so that a worker reconciles the tenant's sessions."""
        self._queue.add(tenant, _GATHER_S)

    def follow(self, on_update: Callable[[str], None]) -> None:
        """Make the controller call `on_update` with the tenant's name after each change to a session.

        Call this method before `start`.
        """
        self._live.follow(on_update)

    def rows(self, tenant: str) -> list[SessionRow]:
        """The sessions of a tenant, as rows for the web page. Thread-safe."""
        return self._live.rows(tenant)

    def change_count(self, tenant: str) -> int:
        """The number of changes to the tenant's sessions since the watcher started."""
        return self._live.change_count(tenant)

    def phase_counts(self) -> Mapping[str, int]:
        return self._live.phase_counts()

    @property
    def informers(self) -> tuple[Informer, ...]:
        return self._live.informers

    def _start_workers(self) -> None:
        # Workers count the running Jobs in the cache. With an incomplete cache, they would start too many.
        for informer in (*self._shared_informers, *self._live.informers):
            informer.is_synced.wait()
        for informer in self._live.informers if self._is_takeover else ():
            informer.await_current()
        self._plans.is_loaded.wait()
        self.workers.start()
