"""What pods use is read in turns: a few failures change nothing, and what is not served is not told."""

from typing import cast

import pytest

from cluster.client import Cluster, ClusterError
from cluster.live_objects import ManagedObjects
from tenancy.base.manifest import Manifest
from tenancy.base.names import object_labels
from watcher.usage.pod_metrics import PodMetrics

NAMESPACE = "tenant-acme"
UNAVAILABLE, NOT_SERVED = ClusterError("no endpoints", 503), ClusterError("not found", 404)


class MetricsApi:
    """In place of a cluster: pods that use 100 MiB in all, or an error."""

    def __init__(self) -> None:
        self.error: ClusterError | None = None

    def list(self, *_: object) -> tuple[list[Manifest], str]:
        if self.error:
            raise self.error
        containers = [{"name": "main", "usage": {"cpu": "150m", "memory": "50Mi"}}]
        return [{"metadata": {"namespace": NAMESPACE}, "containers": containers}] * 2, "1"


@pytest.fixture
def api() -> MetricsApi:
    return MetricsApi()


@pytest.fixture
def moved() -> list[str]:
    """The tenants whose status is to be written, in the order in which they were named."""
    return []


@pytest.fixture
def metrics(api: MetricsApi, moved: list[str]) -> PodMetrics:
    managed = ManagedObjects()
    metadata = {"name": NAMESPACE, "labels": object_labels("acme")}
    managed.put(None, {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    found = PodMetrics(cast(Cluster, api), managed, lambda: ["acme"], moved.append, period_s=60)
    found.read()
    return found


def memory(metrics: PodMetrics) -> str | None:
    told = metrics.reported("acme")
    return told.memory_text if told else None


def test_sum_over_pods_is_told_once(metrics: PodMetrics, moved: list[str]) -> None:
    metrics.read()
    assert (memory(metrics), moved) == ("100Mi", ["acme"])


def test_failures_in_a_row_change_nothing_until_the_fifth(
    metrics: PodMetrics, api: MetricsApi, moved: list[str]
) -> None:
    api.error = UNAVAILABLE
    for _ in range(4):
        metrics.read()
    assert (memory(metrics), moved) == ("100Mi", ["acme"])
    metrics.read()
    assert (memory(metrics), moved) == (None, ["acme", "acme"])
    assert metrics.current("acme") == {}


def test_read_that_goes_well_forgives_failures_before_it(metrics: PodMetrics, api: MetricsApi) -> None:
    for error in (UNAVAILABLE,) * 4 + (None,) + (UNAVAILABLE,) * 4:
        api.error = error
        metrics.read()
    assert memory(metrics) == "100Mi"


def test_cluster_that_serves_no_metrics_is_believed_at_once(metrics: PodMetrics, api: MetricsApi) -> None:
    api.error = NOT_SERVED
    metrics.read()
    assert memory(metrics) is None
