"""A real metrics-server serves the usage of pods that run on the simulated nodes."""

from pathlib import Path

import pytest

from cluster.client import Cluster
from embedded.controlplane.plane import ControlPlane
from tenancy.base.kinds import Kind
from tenancy.base.quantity import quantity_value
from tests.embedded.metricsserver import GROUP, VERSION, running_metrics_server
from tests.integrations.pods import POD, pod
from tests.waiting import eventually

POD_METRICS = Kind(f"{GROUP}/{VERSION}", "PodMetrics", "pods")


def test_pod_uses_what_its_annotations_say(
    tools: dict[str, Path], metrics_server_binary: Path, tmp_path: Path
) -> None:
    manifest = pod("default")
    manifest["metadata"]["annotations"] = {"kwok.tenancy/cpu": "250m", "kwok.tenancy/memory": "64Mi"}
    with ControlPlane(tools, tmp_path / "plane", is_throw_away=True, has_nodes=True) as plane:
        admin = Cluster.connect(plane.kubeconfig)
        # Wait until the pod runs before metrics-server starts, so that the first measurement includes the
        # pod.
        name = admin.create(POD, manifest)["metadata"]["name"]
        eventually(lambda: is_running(admin, name), "the pod runs")
        with running_metrics_server(metrics_server_binary, plane, tmp_path):
            metrics = eventually(
                lambda: admin.get(POD_METRICS, name, "default"), "the pod's usage is known", timeout_s=120
            )
    (container,) = metrics["containers"]
    assert quantity_value(container["usage"]["memory"]) == 64 * 1024**2
    # The CPU usage is not exact, because metrics-server computes it from the increase of a counter.
    assert float(quantity_value(container["usage"]["cpu"])) == pytest.approx(0.25, rel=0.1)


def is_running(admin: Cluster, name: str) -> bool:
    live_pod = admin.get(POD, name, "default")
    return live_pod is not None and live_pod["status"].get("phase") == "Running"
