"""Creates, starts and stops the watcher's informers, queues and background services."""

import contextlib
import threading
from collections.abc import Callable
from typing import Final

import structlog

from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.informer import Informer, not_synced
from cluster.live_objects import ManagedObjects, quota_use, tenant_of
from cluster.plans_in_force import LivePlans
from cluster.served_kinds import Integrations
from cluster.tenants import Tenants, has_lost_finalizer, known_namespaces, needs_work
from stacks.stack import Stacks
from tenancy.base.kinds import AISESSION, MANAGED_KINDS, NAMESPACE, RESOURCE_QUOTA, Kind
from tenancy.base.labels import MANAGED_SELECTOR
from tenancy.base.manifest import Manifest
from tenancy.changes import Differences
from watcher.dns import DnsConfig
from watcher.history_pruner import HistoryPruner
from watcher.isolation import IsolationChecks
from watcher.leadership.backend_claim import BackendClaim
from watcher.leadership.election import Election
from watcher.lifecycle import Lifecycle
from watcher.metrics import Metrics
from watcher.options import Options
from watcher.queue import TenantQueue
from watcher.reconciler.applied_loader import AppliedLoader
from watcher.reconciler.drift_repair import Repairs
from watcher.reconciler.last_applied import LastApplied
from watcher.reconciler.reconcile import Reconciler
from watcher.reconciler.report import Reporter
from watcher.service import QueueWorkers, TryAgain
from watcher.sessions.controller import SessionController
from watcher.sessions.metrics import SessionPhaseCollector
from watcher.usage.pod_metrics import PodMetrics
from watcher.usage.recorder import UsageRecorder
from watcher.usage.store import UsageStore

log = structlog.get_logger(__name__)

# The maximum time to wait for the admission policies. If they cannot be listed, the watcher starts anyway.
_COMPARED_S: Final = 10.0


class Watcher:
    """Runs the watcher. Informers queue the tenants that have changed, and worker threads reconcile them."""

    def __init__(
        self,
        cluster: Cluster,
        stacks: Stacks,
        plans: LivePlans,
        usage: UsageStore,
        options: Options,
    ) -> None:
        self.election = Election(cluster, options.lease)
        self._queue = TenantQueue()
        self._usage_status_s = options.usage_status_s
        self._stacks = stacks
        self._plans = plans
        self._on_change: Callable[[str], None] = lambda _: None
        # False until this process leads. A standby only keeps the copies of the objects up to date.
        self._is_active = False
        self._activation = threading.Lock()
        managed = self.managed = ManagedObjects()
        tenants = self.tenants = Tenants(cluster, self._tenant_changed)
        self._informers = [
            Informer(cluster, kind, self._managed_changed, MANAGED_SELECTOR) for kind in MANAGED_KINDS
        ]
        namespaces = next(informer for informer in self._informers if informer.kind == NAMESPACE)
        self._dns = [DnsConfig(cluster, namespaces)] if options.has_dns_isolation else []
        on_kinds, on_crd = self._kinds_changed, self._crd_changed
        self._integrations = Integrations(cluster, self._managed_changed, on_kinds, on_crd)
        period_s = options.usage_metrics_s
        pod_metrics = PodMetrics(cluster, managed, tenants.names, self._queue.add, period_s)
        self._pruner = HistoryPruner(stacks.histories, options.history)
        recorder = UsageRecorder(usage, managed, tenants.names, options.usage_record_s)
        self.metrics = Metrics(
            self.tenants,
            self.managed,
            self._queue.depth,
            lambda: plans.is_valid,
            recorder.is_recording,
            pod_metrics.current,
            lambda: stacks.engine_problem is None,
            self.election.is_leading.is_set,
        )

        def served() -> frozenset[Kind]:
            return self._integrations.served

        applied = LastApplied()
        loader = AppliedLoader(stacks, tenants, applied, lambda: plans.current, served, self._applied_loaded)
        repairs = self._repairs = Repairs(cluster, applied, loader, managed, served, self._queue.add)
        isolation = self._isolation = IsolationChecks(cluster, tenants, managed, plans, self._queue.add)
        reporter = Reporter(
            cluster, tenants, managed, applied, loader, repairs, self.metrics, pod_metrics.reported, isolation
        )
        blocked_s = options.deletion_blocked_s
        self._reconciler = Reconciler(
            cluster, stacks, tenants, managed, plans, served, applied, loader, repairs, reporter, blocked_s
        )
        self.sessions = SessionController(
            cluster, tenants, plans, namespaces, managed, options.session_retry_s
        )
        self.metrics.register(SessionPhaseCollector(self.sessions.phase_counts))
        workers = QueueWorkers(
            "worker",
            self._queue,
            self._reconciler.reconcile,
            count=options.workers,
            on_failure=self._reconcile_failed,
        )
        self._lifecycle = Lifecycle(
            stacks,
            plans,
            self.election,
            BackendClaim(cluster, stacks, self.election),
            self.sessions,
            self._all_informers,
            observers=[pod_metrics, recorder, self._pruner, isolation, *self._dns],
            writers=[repairs.workers, loader.workers, workers],
        )

    def follow(self, on_change: Callable[[str], None]) -> None:
        """Make the watcher call `on_change` with the name of each tenant that changes.

        Call this method before `start`.
        """
        self._on_change = on_change
        self.sessions.follow(on_change)

    def differences(self, tenant: Manifest) -> Differences:
        """The manual changes to a tenant's objects, and the changes that the watcher has not applied yet."""
        return self._reconciler.differences(tenant)

    def start(self) -> None:
        """Start the watcher, and return at once. `not_ready` reports what the watcher still waits for."""
        informers = (*self._informers, *self.tenants.informers, self._integrations.crds)
        self._lifecycle.start(informers, self._add_all, self._activate, self._begin)

    def stop(self) -> None:
        """Stop reconciling tenants. Running Pulumi operations get a few seconds, and are then canceled."""
        self._lifecycle.stop()

    def not_ready(self) -> list[str]:
        """The reasons why the watcher is not ready to reconcile tenants. Empty if the watcher is ready."""
        return self._lifecycle.not_ready()

    def not_healthy(self) -> list[str]:
        """One message for each thread that has died."""
        return self._lifecycle.not_healthy()

    def notes(self) -> list[str]:
        """Problems that do not stop the watcher, such as a cluster without the AISession CRD."""
        sessions = [f"cannot start AISessions: {problem}" for problem in not_synced(self.sessions.informers)]
        notes = [*self.election.notes(), *sessions, *self._stacks.notes()]
        return [*notes, *(note for dns in self._dns for note in dns.notes())]

    def not_listed(self) -> list[str]:
        """One message for each kind that the informers have not listed yet."""
        return not_synced(self._all_informers())

    def _activate(self) -> None:
        """Handle all tenants as new, because this process leads now. Earlier changes were not for it."""
        with self._activation:
            self._is_active = True
            for name in self.tenants.names():
                for tenant in self.tenants.named(name):
                    self._handle_tenant(None, tenant)

    def _begin(self) -> None:
        # Wait for the comparison. Otherwise, it would queue each tenant again after its first reconcile.
        self._isolation.is_compared.wait(_COMPARED_S)
        log.info("watching", tenants=self._queue.depth())
        self._repairs.keep_applied()

    def _all_informers(self) -> list[Informer]:
        return [*self._informers, *self.tenants.informers, *self._integrations.informers]

    def _add_all(self) -> None:
        """Queue all tenants after a change to the plans or to the kinds that the API server serves."""
        for name in self.tenants.names():
            self._queue.add_now(name)
            self.sessions.wake(name)

    def _kinds_changed(self) -> None:
        self._stacks.served_kinds_changed()
        self._add_all()

    def _applied_loaded(self, tenant: str) -> None:
        self._repairs.check(tenant)
        self._queue.add(tenant)

    def _reconcile_failed(self, tenant: str, error: Exception) -> None:
        self.metrics.count_failed()
        if not isinstance(error, TryAgain | ClusterError):
            with contextlib.suppress(ClusterError):
                self._reconciler.reporter.report_internal_error(tenant, error)

    def _tenant_changed(self, before: Manifest | None, after: Manifest | None) -> None:
        if (known := after or before) is None:
            return
        with self._activation:
            if self._is_active:
                self._handle_tenant(before, after)
        self._on_change(known["metadata"]["name"])
        if after is None:
            self.tenants.forget(known)

    def _handle_tenant(self, before: Manifest | None, after: Manifest | None) -> None:
        name = (after or before or {})["metadata"]["name"]
        self._reconciler.notice(before, after)
        self._pruner.notice(before, after)
        if after is None or needs_work(before, after):
            self._queue.add_now(name)
            self.sessions.wake(name)
        elif has_lost_finalizer(before, after):
            self._queue.add(name)
        elif before and known_namespaces(before) != known_namespaces(after):
            self.sessions.wake(name)  # AISessions start only in namespaces that the Tenant's status lists.

    def _crd_changed(self, name: str) -> None:
        if name == AISESSION.crd:
            for informer in self.sessions.informers:
                informer.retry_now()

    def _managed_changed(self, before: Manifest | None, after: Manifest | None) -> None:
        self.managed.put(before, after)
        tenants = {tenant_of(manifest) for manifest in (before, after) if manifest}
        for tenant in tenants:
            self._on_change(tenant)
        if not self._is_active:
            return
        kind = (after or before or {}).get("kind")
        for dns in self._dns if kind == NAMESPACE.kind else ():
            dns.wake()
        self._repairs.notice(before, after)
        for tenant in self._reconciler.tenants_to_requeue(before, after):
            self._queue.add(tenant)
        if before and after and quota_use(before) != quota_use(after):
            self._queue.add(tenant_of(after), self._usage_status_s)
        if kind == RESOURCE_QUOTA.kind:
            for tenant in tenants:
                self.sessions.wake(tenant)  # AISessions that wait for quota may be able to start now.
