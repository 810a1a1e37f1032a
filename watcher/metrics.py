"""What Prometheus is told: counts of what the watcher did, and figures read from the live copies on scrape.

Workers count here; `http` serves `text`. It decides nothing.
"""

from collections import Counter as Tally
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from cluster.live_objects import ManagedObjects
from cluster.tenants import Tenants
from tenancy.base.kinds import RESOURCE_QUOTA
from tenancy.base.quantity import quantity_value
from tenancy.spec.tenant_status import Phase
from tenancy.usage import Measured, namespace_amounts

# From a warm update of one tenant to the longest an operation may take.
_BUCKETS_S: Final = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
_QUOTA_LABELS: Final = ("tenant", "namespace", "quota", "resource")
_USAGE_LABELS: Final = ("tenant", "namespace", "resource")


class Metrics:
    def __init__(
        self,
        tenants: Tenants,
        managed: ManagedObjects,
        queue_depth: Callable[[], int],
        has_valid_plans: Callable[[], bool],
        is_usage_recorded: Callable[[], bool],
        measured: Callable[[str], Mapping[str, Measured]],
    ) -> None:
        self._registry = registry = CollectorRegistry()
        self._reconciles = Counter(
            "tenancy_reconciles",
            "Turns by result; of deletions, only those that failed.",
            ["result"],
            registry=registry,
        )
        self._seconds = Histogram(
            "tenancy_reconcile_seconds",
            "How long Pulumi took to apply a tenant.",
            buckets=_BUCKETS_S,
            registry=registry,
        )
        self._repaired = Counter("tenancy_drift_repaired", "Objects put back as desired.", registry=registry)
        for result in ("applied", "unchanged", "failed"):
            self._reconciles.labels(result)
        depth = Gauge("tenancy_queue_depth", "Tenants that wait for their turn.", registry=registry)
        depth.set_function(queue_depth)
        valid = Gauge(
            "tenancy_plans_valid", "1: the newest plans are in force. 0: they are refused.", registry=registry
        )
        valid.set_function(has_valid_plans)
        recorded = Gauge(
            "tenancy_usage_recorded", "1: the use of quotas is on record. 0: it is lost.", registry=registry
        )
        recorded.set_function(is_usage_recorded)
        registry.register(_LiveFigures(tenants, managed, measured))
        ProcessCollector(registry=registry)

    def add(self, figures: Collector) -> None:
        """Figures that another part of the watcher keeps."""
        self._registry.register(figures)

    def text(self) -> str:
        return generate_latest(self._registry).decode()

    def applied(self, took_s: float, repaired: int) -> None:
        self._reconciles.labels("applied").inc()
        self._seconds.observe(took_s)
        self._repaired.inc(repaired)

    def unchanged(self) -> None:
        self._reconciles.labels("unchanged").inc()

    def failed(self) -> None:
        self._reconciles.labels("failed").inc()


class _LiveFigures(Collector):
    """Read anew for each scrape, so that what is gone is gone here too."""

    def __init__(
        self,
        tenants: Tenants,
        managed: ManagedObjects,
        measured: Callable[[str], Mapping[str, Measured]],
    ) -> None:
        self._tenants = tenants
        self._managed = managed
        self._measured = measured

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield from self._quotas_and_phases()
        yield from self._usage()

    def _quotas_and_phases(self) -> Iterator[GaugeMetricFamily]:
        used = GaugeMetricFamily("tenancy_quota_used", "What is used of a quota.", labels=_QUOTA_LABELS)
        hard = GaugeMetricFamily("tenancy_quota_hard", "What a quota allows.", labels=_QUOTA_LABELS)
        phases = GaugeMetricFamily("tenancy_tenants", "Tenants by their phase.", labels=["phase"])
        tally = Tally[str](dict.fromkeys(Phase, 0))
        for name in self._tenants.names():
            for tenant in self._tenants.named(name):
                tally[(tenant.get("status") or {}).get("phase", Phase.PENDING)] += 1
            for key, manifest in self._managed.of(name).items():
                if key.kind == RESOURCE_QUOTA.key:
                    place = [name, key.namespace, key.name]
                    _add_amounts(hard, place, manifest["spec"].get("hard"))
                    _add_amounts(used, place, (manifest.get("status") or {}).get("used"))
        for phase, count in tally.items():
            phases.add_metric([phase], count)
        yield from (used, hard, phases)

    def _usage(self) -> Iterator[GaugeMetricFamily]:
        """One figure for each resource of a namespace, whatever quotas it has."""
        used = GaugeMetricFamily("tenancy_usage_used", "What a namespace uses.", labels=_USAGE_LABELS)
        hard = GaugeMetricFamily("tenancy_usage_hard", "What it may use.", labels=_USAGE_LABELS)
        measured = GaugeMetricFamily(
            "tenancy_usage_measured", "What its pods really use, where it is measured.", labels=_USAGE_LABELS
        )
        for name in self._tenants.names():
            for namespace, amounts in namespace_amounts(self._managed.of(name)).items():
                for resource, amount in amounts.items():
                    place = [name, namespace, resource]
                    used.add_metric(place, float(quantity_value(amount.used)))
                    hard.add_metric(place, float(quantity_value(amount.hard)))
            for namespace, figures in self._measured(name).items():
                for resource, figure in figures._asdict().items():
                    measured.add_metric([name, namespace, resource], float(figure))
        yield from (used, hard, measured)


def _add_amounts(family: GaugeMetricFamily, place: list[str], amounts: dict[str, str] | None) -> None:
    for resource, amount in (amounts or {}).items():
        family.add_metric([*place, resource], float(quantity_value(amount)))
