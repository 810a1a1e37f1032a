"""Prometheus metrics of the watcher."""

from collections import Counter as Tally
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from cluster.live_objects import ManagedObjects
from cluster.tenants import Tenants
from tenancy.base.kinds import RESOURCE_QUOTA
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import WATCHER
from tenancy.base.quantity import quantity_value
from tenancy.objects.object_counts import OBJECT_COUNTS
from tenancy.spec.tenant_status import Phase
from tenancy.usage import MeasuredUsage, namespace_amounts

# The buckets range from the shortest Pulumi update to the default time limit of a Pulumi operation.
_BUCKETS_S: Final = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
_QUOTA_LABELS: Final = ("tenant", "namespace", "quota", "resource")
_USAGE_LABELS: Final = ("tenant", "namespace", "resource")


class Metrics:
    """Counters of reconciles, and gauges that are computed at each scrape. Thread-safe."""

    def __init__(
        self,
        tenants: Tenants,
        managed: ManagedObjects,
        queue_depth: Callable[[], int],
        has_valid_plans: Callable[[], bool],
        is_usage_recorded: Callable[[], bool],
        measured: Callable[[str], Mapping[str, MeasuredUsage]],
        is_engine_usable: Callable[[], bool],
        is_leading: Callable[[], bool],
    ) -> None:
        """A standby has only the metrics of its process. Otherwise, sums over all watchers would be wrong."""
        self._is_leading = is_leading
        self._process_registry = CollectorRegistry()
        ProcessCollector(registry=self._process_registry)
        leading = Gauge(
            "leader_election_master_status",
            "1: this watcher leads. 0: it is a standby. The name is the name of the Lease.",
            ["name"],
            registry=self._process_registry,
        )
        leading.labels(WATCHER).set_function(is_leading)
        self._registry = registry = CollectorRegistry()
        self._reconciles = Counter(
            "tenancy_reconciles",
            "Reconciles by result. Successful deletions are not counted.",
            ["result"],
            registry=registry,
        )
        self._seconds = Histogram(
            "tenancy_reconcile_seconds",
            "Time that Pulumi took to apply a tenant.",
            buckets=_BUCKETS_S,
            registry=registry,
        )
        self._repaired = Counter("tenancy_drift_repaired", "Objects repaired after drift.", registry=registry)
        for result in ("applied", "unchanged", "failed"):
            self._reconciles.labels(result)
        depth = Gauge("tenancy_queue_depth", "Tenants that wait in the work queue.", registry=registry)
        depth.set_function(queue_depth)
        valid = Gauge(
            "tenancy_plans_valid",
            "1: the newest plans are in force. 0: they are rejected.",
            registry=registry,
        )
        valid.set_function(has_valid_plans)
        recorded = Gauge(
            "tenancy_usage_recorded",
            "1: quota usage is recorded. 0: it cannot be written.",
            registry=registry,
        )
        recorded.set_function(is_usage_recorded)
        engine = Gauge(
            "tenancy_engine_usable",
            "1: the selected engine runs updates. 0: the warm engine was selected but cannot be used, so the "
            "Pulumi CLI runs updates.",
            registry=registry,
        )
        engine.set_function(is_engine_usable)
        registry.register(_LiveCollector(tenants, managed, measured))

    def register(self, collector: Collector) -> None:
        """Add the metrics of `collector` to the result of `text`."""
        self._registry.register(collector)

    def text(self) -> str:
        """All metrics in the text format of Prometheus."""
        registries = [self._process_registry, *([self._registry] if self._is_leading() else ())]
        return "".join(generate_latest(registry).decode() for registry in registries)

    def count_applied(self, duration_s: float, repaired: int) -> None:
        self._reconciles.labels("applied").inc()
        self._seconds.observe(duration_s)
        self._repaired.inc(repaired)

    def count_unchanged(self) -> None:
        self._reconciles.labels("unchanged").inc()

    def count_failed(self) -> None:
        self._reconciles.labels("failed").inc()


class _LiveCollector(Collector):
    """Computes gauges from the live objects at each scrape. So there are no gauges of deleted tenants."""

    def __init__(
        self,
        tenants: Tenants,
        managed: ManagedObjects,
        measured: Callable[[str], Mapping[str, MeasuredUsage]],
    ) -> None:
        self._tenants = tenants
        self._managed = managed
        self._measured = measured

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield from self._quotas_and_phases()
        yield from self._usage()

    def _quotas_and_phases(self) -> Iterator[GaugeMetricFamily]:
        used = GaugeMetricFamily(
            "tenancy_quota_used", "Used amount of a ResourceQuota.", labels=_QUOTA_LABELS
        )
        hard = GaugeMetricFamily("tenancy_quota_hard", "Hard limit of a ResourceQuota.", labels=_QUOTA_LABELS)
        phases = GaugeMetricFamily("tenancy_tenants", "Tenants by phase.", labels=["phase"])
        tally = Tally[str](dict.fromkeys(Phase, 0))
        for name in self._tenants.names():
            for tenant in self._tenants.named(name):
                tally[(tenant.get("status") or {}).get("phase", Phase.PENDING)] += 1
            for key, manifest in self._managed.of(name).items():
                if key.kind == RESOURCE_QUOTA.key:
                    labels = [name, key.namespace, key.name]
                    hard_amounts, used_amounts = _amounts(manifest)
                    _add_amounts(hard, labels, hard_amounts)
                    _add_amounts(used, labels, used_amounts)
        for phase, count in tally.items():
            phases.add_metric([phase], count)
        yield from (used, hard, phases)

    def _usage(self) -> Iterator[GaugeMetricFamily]:
        """The used amount, the hard limit and the measured usage of each resource in each namespace.

        Used amounts and hard limits come from ResourceQuotas. If several quotas limit the same resource, both
        values come from the quota with the lowest limit. Measured usage comes from the metrics API.
        """
        used = GaugeMetricFamily(
            "tenancy_usage_used", "Used amount of a resource in a namespace.", labels=_USAGE_LABELS
        )
        hard = GaugeMetricFamily(
            "tenancy_usage_hard", "Hard limit of a resource in a namespace.", labels=_USAGE_LABELS
        )
        measured = GaugeMetricFamily(
            "tenancy_usage_measured",
            "CPU and memory in use by a namespace's pods, as measured by the metrics API.",
            labels=_USAGE_LABELS,
        )
        for name in self._tenants.names():
            for namespace, amounts in namespace_amounts(self._managed.of(name)).items():
                for resource, amount in amounts.items():
                    labels = [name, namespace, resource]
                    used.add_metric(labels, float(quantity_value(amount.used)))
                    hard.add_metric(labels, float(quantity_value(amount.hard)))
            for namespace, usage in self._measured(name).items():
                for resource, amount_in_use in usage._asdict().items():
                    measured.add_metric([name, namespace, resource], float(amount_in_use))
        yield from (used, hard, measured)


def _amounts(quota: Manifest) -> tuple[dict[str, str], dict[str, str]]:
    """The hard limits and the used amounts of a ResourceQuota, each by resource.

    In each namespace, the platform creates a quota that limits the number of objects of many kinds. Most
    namespaces contain objects of only a few kinds. To keep the number of time series small, the result for
    this quota contains only kinds with at least one object.
    """
    hard, used = quota["spec"].get("hard") or {}, (quota.get("status") or {}).get("used") or {}
    if quota["metadata"]["name"] == OBJECT_COUNTS:
        used = {resource: amount for resource, amount in used.items() if quantity_value(amount)}
        hard = {resource: amount for resource, amount in hard.items() if resource in used}
    return hard, used


def _add_amounts(family: GaugeMetricFamily, labels: list[str], amounts: dict[str, str]) -> None:
    for resource, amount in amounts.items():
        family.add_metric([*labels, resource], float(quantity_value(amount)))
