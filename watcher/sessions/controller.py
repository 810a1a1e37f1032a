"""The controller of AISessions: their queue and worker threads, independent of those of Tenants."""

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
from watcher.sessions.reconcile import SessionReconciler
from watcher.sessions.refused_starts import StartBackoff
from watcher.sessions.start import Starter

log = structlog.get_logger(__name__)

_WORKERS: Final = 2
# How long changes are collected: a Job and its pod cause many, and one reconcile handles them all.
_GATHER_S: Final = 0.1


class SessionController:
    def __init__(
        self, cluster: Cluster, tenants: Tenants, plans: LivePlans, namespaces: Informer, retry_s: float
    ) -> None:
        """`retry_s` is the wait after the first rejected start of a session."""
        self._queue = TenantQueue()
        self._live = LiveSessions(cluster, namespaces, self.wake)
        backoff = StartBackoff(retry_s)
        starter = Starter(cluster, self._live, backoff, tenants, plans, retry_s)
        self._reconciler = SessionReconciler(cluster, self._live, backoff, starter, plans)
        self._plans = plans
        self._shared_informers = (namespaces, *tenants.informers)
        self._workers = [
            threading.Thread(target=self._work, name=f"sessions {number}", daemon=True)
            for number in range(_WORKERS)
        ]

    def start(self) -> None:
        """Start the informers now, and the workers once all caches are synced. Does not block."""
        for informer in self._live.informers:
            informer.start()
        threading.Thread(target=self._start_workers, name="start sessions", daemon=True).start()

    def stop(self, timeout_s: float) -> None:
        """Stop taking work, and wait at most this long for running reconciles."""
        self._queue.close()
        for informer in self._live.informers:
            informer.stop()
        deadline = time.monotonic() + timeout_s
        for worker in self._workers:
            if worker.ident is not None:
                worker.join(max(0.0, deadline - time.monotonic()))

    def wake(self, tenant: str) -> None:
        """Enqueue the tenant, because its sessions or something that they wait for may have changed."""
        self._queue.add(tenant, _GATHER_S)

    def phase_counts(self) -> Mapping[str, int]:
        return self._live.phase_counts()

    @property
    def informers(self) -> tuple[Informer, ...]:
        return self._live.informers

    @property
    def threads(self) -> list[threading.Thread]:
        return [*self._live.informers, *self._workers]

    def _start_workers(self) -> None:
        # With an incomplete cache of Jobs, workers would start too many sessions.
        for informer in (*self._shared_informers, *self._live.informers):
            informer.is_synced.wait()
        self._plans.is_loaded.wait()
        for worker in self._workers:
            worker.start()

    def _work(self) -> None:
        while (tenant := self._queue.take()) is not None:
            try:
                requeue_after_s = self._reconciler.reconcile(tenant)
            except ClusterError as error:
                retry_after_s = self._queue.failed(tenant)
                log.warning(
                    "sessions not reconciled", tenant=tenant, problem=str(error), retry_after_s=retry_after_s
                )
            except Exception:
                retry_after_s = self._queue.failed(tenant)
                log.exception("reconcile of sessions failed", tenant=tenant, retry_after_s=retry_after_s)
            else:
                self._queue.done(tenant)
                if requeue_after_s is not None:
                    self._queue.add(tenant, requeue_after_s)
