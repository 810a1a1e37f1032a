"""CPU and memory in use by tenant, read now and then from metrics.k8s.io, where the cluster serves it.

Owned by the watcher; the status, the metrics and, through the status, the page read it. Where nothing serves
that API there are no figures, and that is no fault.
"""

import threading
import time
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import structlog

from cluster.client import Cluster, ClusterError
from cluster.live_objects import ManagedObjects
from tenancy.base.kinds import NAMESPACE, POD_METRICS
from tenancy.usage import MeasuredUsage, is_significant_change, measured_by_namespace, total_measured

log = structlog.get_logger(__name__)

_NOT_SERVED: Final = 404
# So many failures in a row change nothing: all tenants' statuses would be written, and then again.
_FAILURES_MAX: Final = 4

ByNamespace = dict[str, MeasuredUsage]


class _Told(NamedTuple):
    """What a tenant's status says, and since when."""

    measured: MeasuredUsage | None
    at_s: float


_NEVER: Final = _Told(None, 0.0)


class PodMetrics:
    def __init__(
        self,
        cluster: Cluster,
        managed: ManagedObjects,
        names: Callable[[], Iterable[str]],
        on_moved: Callable[[str], None],
        period_s: float,
    ) -> None:
        """`on_moved` is called with each tenant whose figures are no longer near those told of it last."""
        self.thread = threading.Thread(target=self._keep, name="read pod metrics", daemon=True)
        self._cluster = cluster
        self._managed = managed
        self._names = names
        self._on_moved = on_moved
        self._period_s = period_s
        self._stopping = threading.Event()
        self._now: ByNamespace | None = None
        self._told: dict[str, _Told] = {}
        self._problem = ""
        self._failures = 0

    def start(self) -> None:
        self.thread.start()

    def stop(self) -> None:
        self._stopping.set()

    def steady(self, tenant: str) -> MeasuredUsage | None:
        """What the tenant uses, as a figure that stays while it hardly moves: a status is not for more."""
        return self._told.get(tenant, _NEVER).measured

    def now(self, tenant: str) -> ByNamespace:
        """What each of the tenant's namespaces uses, as last read."""
        current = self._now
        if current is None:
            return {}
        homes = [key.name for key in self._managed.of(tenant) if key.kind == NAMESPACE.key]
        return {home: current.get(home, MeasuredUsage()) for home in homes}

    def read(self) -> None:
        """One look at all pods, in one request."""
        try:
            pods, _ = self._cluster.list(POD_METRICS)
            self._now = measured_by_namespace(pods)
            self._failures = 0
            problem = ""
        except ClusterError as error:
            self._failures += 1
            if error.status == _NOT_SERVED or self._failures > _FAILURES_MAX:
                self._now = None
            problem = "" if error.status == _NOT_SERVED else str(error)
        if problem and problem != self._problem:
            log.warning("pod metrics not read", problem=problem)
        self._problem = problem
        self._tell()

    def _tell(self) -> None:
        names, now_s = set(self._names()), time.monotonic()
        self._told = {name: told for name, told in self._told.items() if name in names}
        for name in names:
            found = self.now(name)
            measured = total_measured(found.values()) if found else None
            told = self._told.get(name, _NEVER)
            if is_significant_change(told.measured, measured, now_s - told.at_s):
                self._told[name] = _Told(measured, now_s)
                self._on_moved(name)

    def _keep(self) -> None:
        while True:
            try:
                self.read()
            except Exception:
                # An answer that nobody thought of: without the thread, the whole watcher would count as ill.
                log.exception("read of pod metrics broke", retry_after_s=self._period_s)
            if self._stopping.wait(self._period_s):
                return
