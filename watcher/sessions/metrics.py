"""The Prometheus metric `tenancy_sessions`: the number of AISessions in each phase."""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector


class SessionPhaseCollector(Collector):
    """Counts the sessions in each phase at each scrape."""

    def __init__(self, phase_counts: Callable[[], Mapping[str, int]]) -> None:
        self._phase_counts = phase_counts

    def collect(self) -> Iterator[GaugeMetricFamily]:
        family = GaugeMetricFamily("tenancy_sessions", "AISessions by their phase.", labels=["phase"])
        for phase, count in self._phase_counts().items():
            family.add_metric([phase], count)
        yield family
