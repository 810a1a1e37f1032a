"""Periodically reads the CPU and memory usage of tenants from the API group metrics.k8s.io.

If the cluster does not serve this API group, there are no values. This is not an error.
"""

import time
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import structlog

from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.live_objects import ManagedObjects
from tenancy.base.kinds import NAMESPACE, POD_METRICS
from tenancy.usage import MeasuredUsage, is_significant_change, measured_by_namespace, total_measured
from watcher.service import PeriodicService

log = structlog.get_logger(__name__)

_NOT_SERVED: Final = 404
# The last values are kept until more than this many reads in a row have failed. If they were dropped at the
# first failure and restored later, the watcher would write the status of every tenant twice.
_FAILURES_MAX: Final = 4

ByNamespace = dict[str, MeasuredUsage]


class _Reported(NamedTuple):
    """The usage that a tenant's status must report.

    `at_s` is the value of `time.monotonic()` at the last change of the usage.
    """

    measured: MeasuredUsage | None
    at_s: float


_NEVER: Final = _Reported(None, 0.0)


class PodMetrics(PeriodicService):
    def __init__(
        self,
        cluster: Cluster,
        managed: ManagedObjects,
        names: Callable[[], Iterable[str]],
        on_change: Callable[[str], None],
        period_s: float,
    ) -> None:
        """`on_change` is called with the name of each tenant whose result of `reported` has changed.

        `names` returns the names of all tenants.
        """
        super().__init__("read pod metrics", self.read, period_s)
        self._cluster = cluster
        self._managed = managed
        self._names = names
        self._on_change = on_change
        self._current: ByNamespace | None = None
        self._reported: dict[str, _Reported] = {}
        self._problem = ""
        self._failures = 0

    def reported(self, tenant: str) -> MeasuredUsage | None:
        """The usage that the tenant's status must report. None if it is unknown.

        To avoid frequent writes, the reported usage changes only if the measured usage changes significantly.
        """
        return self._reported.get(tenant, _NEVER).measured

    def current(self, tenant: str) -> ByNamespace:
        """The last measured usage of each namespace of the tenant. Empty if the usage is unknown."""
        current = self._current
        if current is None:
            return {}
        namespaces = [key.name for key in self._managed.of(tenant) if key.kind == NAMESPACE.key]
        return {namespace: current.get(namespace, MeasuredUsage()) for namespace in namespaces}

    def read(self) -> None:
        """Read the metrics of all pods in one request. After a significant change, call `on_change`."""
        try:
            pods, _ = self._cluster.list(POD_METRICS)
            self._current = measured_by_namespace(pods)
            self._failures = 0
            problem = ""
        except ClusterError as error:
            self._failures += 1
            if error.status == _NOT_SERVED or self._failures > _FAILURES_MAX:
                self._current = None
            problem = "" if error.status == _NOT_SERVED else str(error)
        if problem and problem != self._problem:
            log.warning("pod metrics not read", problem=problem)
        self._problem = problem
        self._report_changes()

    def _report_changes(self) -> None:
        names, now_s = set(self._names()), time.monotonic()
        self._reported = {name: report for name, report in self._reported.items() if name in names}
        for name in names:
            by_namespace = self.current(name)
            measured = total_measured(by_namespace.values()) if by_namespace else None
            report = self._reported.get(name, _NEVER)
            if is_significant_change(report.measured, measured, now_s - report.at_s):
                self._reported[name] = _Reported(measured, now_s)
                self._on_change(name)
