"""The metrics API: what pods on the embedded control plane's nodes use, served by a real metrics-server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded.controlplane.plane import ControlPlane
from tenancy.kinds import Kind
from tenancy.manifest import Manifest
from tenancy.quantity import quantity_value
from tests.embedded.metricsserver import GROUP, VERSION, running_metrics_server
from tests.integrations.pods import POD, pod
from tests.waiting import eventually
from watcher.cluster import Cluster

POD_METRICS = Kind(f"{GROUP}/{VERSION}", "PodMetrics", "pods")


@pytest.fixture
def admin(tools: dict[str, Path], metrics_server_binary: Path, tmp_path: Path) -> Iterator[Cluster]:
    with (
        ControlPlane(tools, tmp_path / "plane", is_throw_away=True, has_nodes=True) as plane,
        running_metrics_server(metrics_server_binary, plane, tmp_path),
    ):
        yield Cluster.connect(plane.kubeconfig)


def test_pod_uses_what_its_annotations_say(admin: Cluster) -> None:
    manifest = pod("default")
    manifest["metadata"]["annotations"] = {"kwok.tenancy/cpu": "250m", "kwok.tenancy/memory": "64Mi"}
    name = admin.create(POD, manifest)["metadata"]["name"]

    def told() -> Manifest | None:
        return admin.get(POD_METRICS, name, "default")

    (container,) = eventually(told, "the pod's usage is known", timeout_s=120)["containers"]
    assert quantity_value(container["usage"]["memory"]) == 64 * 1024**2
    # It is measured over time, like that of a pod that runs.
    assert float(quantity_value(container["usage"]["cpu"])) == pytest.approx(0.25, rel=0.1)
