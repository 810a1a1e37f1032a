"""The watcher reads the metrics of pods periodically.

A few failures in a row do not change the reported usage.
"""

from typing import cast

import pytest

from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.live_objects import ManagedObjects
from tenancy.base.labels import object_labels
from tenancy.base.manifest import Manifest
from watcher.usage.pod_metrics import PodMetrics

NAMESPACE = "tenant-acme"
UNAVAILABLE, NOT_SERVED = ClusterError("no endpoints", 503), ClusterError("not found", 404)


class MetricsApi:
    """A fake metrics API. Its pods use 100 MiB in total. If `error` is set, it raises the error."""

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
def changed_tenants() -> list[str]:
    """The tenants with which `on_change` was called, in the order of the calls."""
    return []


@pytest.fixture
def metrics(api: MetricsApi, changed_tenants: list[str]) -> PodMetrics:
    managed = ManagedObjects()
    metadata = {"name": NAMESPACE, "labels": object_labels("acme")}
    managed.put(None, {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    pod_metrics = PodMetrics(
        cast(Cluster, api), managed, lambda: ["acme"], changed_tenants.append, period_s=60
    )
    pod_metrics.read()
    return pod_metrics


def memory(metrics: PodMetrics) -> str | None:
    measured = metrics.reported("acme")
    return measured.memory_text if measured else None


def test_sum_over_pods_is_reported_once(metrics: PodMetrics, changed_tenants: list[str]) -> None:
    metrics.read()
    assert (memory(metrics), changed_tenants) == ("100Mi", ["acme"])


def test_failures_in_a_row_change_nothing_until_the_fifth(
    metrics: PodMetrics, api: MetricsApi, changed_tenants: list[str]
) -> None:
    api.error = UNAVAILABLE
    for _ in range(4):
        metrics.read()
    assert (memory(metrics), changed_tenants) == ("100Mi", ["acme"])
    metrics.read()
    assert (memory(metrics), changed_tenants) == (None, ["acme", "acme"])
    assert metrics.current("acme") == {}


def test_successful_read_resets_the_count_of_failures(metrics: PodMetrics, api: MetricsApi) -> None:
    for error in (UNAVAILABLE,) * 4 + (None,) + (UNAVAILABLE,) * 4:
        api.error = error
        metrics.read()
    assert memory(metrics) == "100Mi"


def test_values_are_dropped_at_once_if_the_api_is_not_served(metrics: PodMetrics, api: MetricsApi) -> None:
    api.error = NOT_SERVED
    metrics.read()
    assert memory(metrics) is None
