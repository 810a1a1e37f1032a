"""The watcher as a whole: its parts, its threads, its start and its end."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable
from typing import Final

import structlog

from cluster.client import Cluster, ClusterError
from cluster.informer import Informer
from cluster.live_objects import ManagedObjects, quota_use, tenant_of
from cluster.plans_in_force import LivePlans
from cluster.served_kinds import Integrations
from cluster.tenants import Tenants, has_lost_finalizer, known_namespaces, needs_work
from stacks.command import PulumiProcess
from stacks.errors import StackStopped
from stacks.stack import Stacks
from tenancy.base.kinds import AISESSION, MANAGED_KINDS, NAMESPACE, RESOURCE_QUOTA, Kind
from tenancy.base.manifest import Manifest
from tenancy.base.names import MANAGED_SELECTOR
from tenancy.desired import DesiredState
from watcher.dns import DnsConfig
from watcher.metrics import Metrics
from watcher.periods import DEFAULT_PERIODS, Periods
from watcher.queue import TenantQueue
from watcher.reconciler.applied_loader import AppliedLoader
from watcher.reconciler.last_applied import LastApplied
from watcher.reconciler.reconcile import Reconciler
from watcher.reconciler.repairs import Repairs
from watcher.reconciler.retry import TryAgain
from watcher.sessions.controller import SessionController
from watcher.sessions.metrics import SessionPhaseCollector
from watcher.usage.pod_metrics import PodMetrics
from watcher.usage.recorder import UsageRecorder
from watcher.usage.store import UsageStore

log = structlog.get_logger(__name__)

# Together less than the 30 s that Kubernetes gives a pod to end.
_FINISH_S: Final = 15.0
_WIND_DOWN_S: Final = 10.0
_SESSIONS_S: Final = 2.0


class Watcher:
    """Wires informers to the queue and the queue to workers."""

    def __init__(
        self,
        cluster: Cluster,
        stacks: Stacks,
        command: PulumiProcess,
        plans: LivePlans,
        usage: UsageStore,
        workers: int,
        periods: Periods = DEFAULT_PERIODS,
    ) -> None:
        self._queue = TenantQueue()
        self._usage_status_s = periods.usage_status_s
        self._command = command
        self._plans = plans
        self._on_news: Callable[[str], None] = lambda _: None
        self.managed = ManagedObjects()
        self.tenants = Tenants(cluster, self._tenant_changed)
        self._informers = [
            Informer(cluster, kind, self._managed_changed, MANAGED_SELECTOR) for kind in MANAGED_KINDS
        ]
        namespaces = next(informer for informer in self._informers if informer.kind == NAMESPACE)
        self._dns = DnsConfig(cluster, namespaces)
        self._integrations = Integrations(cluster, self._managed_changed, self._add_all, self._crd_changed)
        self._pod_metrics = PodMetrics(
            cluster, self.managed, self.tenants.names, self._queue.add, periods.usage_metrics_s
        )
        self._recorder = UsageRecorder(usage, self.managed, self.tenants.names, periods.usage_record_s)
        self.metrics = Metrics(
            self.tenants,
            self.managed,
            self._queue.depth,
            lambda: plans.is_valid,
            self._recorder.is_recording,
            self._pod_metrics.current,
        )

        def served() -> frozenset[Kind]:
            return self._integrations.served

        applied = LastApplied()
        self._loader = AppliedLoader(
            stacks, self.tenants, applied, lambda: plans.current, served, self._applied_loaded
        )
        self._repairs = Repairs(cluster, applied, self._loader, self.managed, served, self._queue.add)
        self._reconciler = Reconciler(
            cluster,
            stacks,
            self.tenants,
            self.managed,
            plans,
            served,
            applied,
            self._loader,
            self._repairs,
            self.metrics,
            self._pod_metrics.reported,
        )
        self._workers = [
            threading.Thread(target=self._work, name=f"worker {number}", daemon=True)
            for number in range(workers)
        ]
        self._sessions = SessionController(cluster, self.tenants, plans, namespaces, periods.session_retry_s)
        self.metrics.register(SessionPhaseCollector(self._sessions.phase_counts))

    def follow(self, on_news: Callable[[str], None]) -> None:
        """Has it called with a tenant's name whenever something of that tenant has changed, on an informer's
        thread. Called before the start, if at all."""
        self._on_news = on_news

    def desired(self, tenant: str) -> DesiredState | None:
        """What the tenant should be, once it has had its first turn."""
        return self._reconciler.desired(tenant)

    def start(self) -> None:
        """Returns at once; `not_ready` tells how far it is."""
        for informer in (*self._informers, *self.tenants.informers, self._integrations.crds):
            informer.start()
        self._sessions.start()
        self._plans.start(self._add_all)
        threading.Thread(target=self._start_workers, name="start", daemon=True).start()

    def stop(self) -> None:
        """Takes no more work, lets what is under way end, and asks what takes too long to wind down."""
        log.info("stopping")
        self._queue.close()
        self._repairs.stop()
        self._loader.stop()
        self._sessions.stop(_SESSIONS_S)
        for informer in self._all_informers():
            informer.stop()
        self._plans.stop()
        self._dns.stop()
        self._pod_metrics.stop()
        self._recorder.stop()
        self._join_workers(_FINISH_S)
        self._command.stop()
        self._join_workers(_WIND_DOWN_S)

    def not_ready(self) -> list[str]:
        return [*self.not_listed(), *self._plans.not_loaded()]

    def notes(self) -> list[str]:
        """What waits though tenants are looked after: a cluster may have no AISessions, or not yet."""
        return [f"no session starts: {told}" for told in _not_synced(self._sessions.informers)]

    def not_listed(self) -> list[str]:
        """What of the cluster has not been seen yet."""
        return _not_synced(self._all_informers())

    def not_healthy(self) -> list[str]:
        usage = [self._pod_metrics.thread, self._recorder.thread]
        others = [self._plans.thread, self._dns.thread, self._dns.informer, self._loader.thread, *usage]
        threads = [*self._all_informers(), *self._workers, *self._repairs.threads, *others]
        return [
            f"thread died: {thread.name}"
            for thread in (*threads, *self._sessions.threads)
            if thread.ident and not thread.is_alive()
        ]

    def _start_workers(self) -> None:
        # A worker that saw half of the cluster would take the other half for drift.
        self._integrations.crds.is_synced.wait()
        for informer in self._all_informers():
            informer.is_synced.wait()
        self._dns.start()
        self._pod_metrics.start()
        self._recorder.start()
        for problem in self._plans.not_loaded():
            log.warning("waiting for plans", problem=problem)
        self._plans.is_loaded.wait()
        log.info("watching", workers=len(self._workers), tenants=self._queue.depth())
        self._reconciler.keep_applied()
        self._repairs.start()
        self._loader.thread.start()
        for worker in self._workers:
            worker.start()

    def _all_informers(self) -> list[Informer]:
        return [*self._informers, *self.tenants.informers, *self._integrations.informers]

    def _add_all(self) -> None:
        """Has every tenant looked at, because what they are made from has changed."""
        for name in self.tenants.names():
            self._queue.add_now(name)
            self._sessions.wake(name)

    def _applied_loaded(self, tenant: str) -> None:
        self._repairs.check(tenant)
        self._queue.add(tenant)

    def _join_workers(self, limit_s: float) -> None:
        deadline = time.monotonic() + limit_s
        for worker in (*self._workers, *self._repairs.threads):
            if worker.ident is not None:
                worker.join(max(0.0, deadline - time.monotonic()))

    def _tenant_changed(self, before: Manifest | None, after: Manifest | None) -> None:
        if before is None and after is not None:
            self._reconciler.restore(after)
        known = after or before
        if known is None:
            return
        self._on_news(known["metadata"]["name"])
        if after is None:
            self.tenants.forget(known)
        if after is None or needs_work(before, after):
            self._queue.add_now(known["metadata"]["name"])
            self._sessions.wake(known["metadata"]["name"])
        elif has_lost_finalizer(before, after):
            self._queue.add(known["metadata"]["name"])
        elif before and known_namespaces(before) != known_namespaces(after):
            self._sessions.wake(known["metadata"]["name"])  # No session starts where no wall is.

    def _crd_changed(self, name: str) -> None:
        if name == AISESSION.crd:
            for informer in self._sessions.informers:
                informer.retry_now()

    def _managed_changed(self, before: Manifest | None, after: Manifest | None) -> None:
        self.managed.put(before, after)
        for tenant in {tenant_of(found) for found in (before, after) if found}:
            self._on_news(tenant)
        if (after or before or {}).get("kind") == NAMESPACE.kind:
            self._dns.wake()
        self._repairs.notice(before, after)
        for tenant in self._reconciler.tenants_to_requeue(before, after):
            self._queue.add(tenant)
        if before and after and quota_use(before) != quota_use(after):
            self._queue.add(tenant_of(after), self._usage_status_s)
        if (after or before or {}).get("kind") == RESOURCE_QUOTA.kind:
            for tenant in {tenant_of(found) for found in (before, after) if found}:
                self._sessions.wake(tenant)  # There may be room now.

    def _work(self) -> None:
        while (tenant := self._queue.take()) is not None:
            try:
                again_after_s = self._reconciler.reconcile(tenant)
            except TryAgain:
                self.metrics.count_failed()
                self._queue.failed(tenant)
            except StackStopped:
                return  # The next process takes it up.
            except ClusterError as error:
                self.metrics.count_failed()
                retry_after_s = self._queue.failed(tenant)
                log.warning("cluster refused", tenant=tenant, problem=str(error), retry_after_s=retry_after_s)
            except Exception as error:
                self.metrics.count_failed()
                retry_after_s = self._queue.failed(tenant)
                log.exception("turn broke", tenant=tenant, retry_after_s=retry_after_s)
                with contextlib.suppress(ClusterError):
                    self._reconciler.reporter.report_internal_error(tenant, error)
            else:
                self._queue.done(tenant)
                if again_after_s is not None:
                    self._queue.add(tenant, again_after_s)


def _not_synced(informers: Iterable[Informer]) -> list[str]:
    return [
        f"not listed yet: {informer.kind.plural} of {informer.kind.api_version}"
        for informer in informers
        if not informer.is_synced.is_set()
    ]
