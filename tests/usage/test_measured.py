"""What pods really use is told where the cluster measures it, and its end breaks nothing."""

from decimal import Decimal
from pathlib import Path

import pytest
from playwright.sync_api import expect

from embedded.controlplane.loopback import free_port
from embedded.controlplane.plane import ControlPlane
from tenancy.quantity import quantity_value
from tests.cli.conftest import Run
from tests.embedded.metricsserver import API_SERVICE, API_SERVICE_NAME, running_metrics_server
from tests.page.browser import Tab
from tests.platform import NewTenant, Platform
from tests.usage.cluster import start_pods, told_usage
from tests.waiting import eventually

A, B = "tenant-busy-a", "tenant-busy-b"
MIB = 2**20
# metrics-server looks every 10 s and wants more than one look; the watcher asks each 30 s.
PATIENCE_S = 180


def misses(platform: Platform) -> int:
    return sum(1 for line in platform.log() if line["message"] == "pod metrics not read")


def test_use_of_machines_is_told_while_the_cluster_measures_it(
    platform: Platform,
    new_tenant: NewTenant,
    control_plane: ControlPlane,
    metrics_server_binary: Path,
    tmp_path: Path,
    tab: Tab,
    tenancy: Run,
) -> None:
    manifest = new_tenant("busy", plan="basic", namespaces=[{"name": "a"}, {"name": "b"}])
    platform.await_active(manifest)
    # Alike, so that the second is news at once, whichever is measured first.
    for namespace in (A, B):
        start_pods(platform, namespace, 1, cpu="150m", memory="100Mi")
    start_pods(platform, "default", 1, cpu="7", memory="7Gi")

    def is_told() -> bool:
        told = told_usage(platform, manifest)
        return told.get("memory") == "200Mi" and quantity_value(told["cpu"]) > Decimal("0.25")

    def is_told_no_more() -> bool:
        return told_usage(platform, manifest).keys() == {"pods", "quotas"}

    with running_metrics_server(metrics_server_binary, control_plane, tmp_path):
        eventually(is_told, "the sum is told", PATIENCE_S)
        # It is measured over time, so it is no round figure.
        cpu = float(quantity_value(told_usage(platform, manifest)["cpu"]))
        assert cpu == pytest.approx(0.3, rel=0.15)
        series = platform.metrics("tenancy_usage_measured")
        assert series[A, "cpu", "busy"] == pytest.approx(0.15, rel=0.15)
        assert series[B, "memory", "busy"] == 100 * MIB
        assert "default" not in {namespace for namespace, *_ in series}

        tab.open("/tenants/busy")
        in_use = f"{told_usage(platform, manifest)['cpu']} CPU, 200Mi memory"
        expect(tab.page.get_by_role("main")).to_contain_text(in_use)
        assert f"In use  {in_use}" in tenancy("show", "busy").stdout.splitlines()

        # One that does not answer for a moment: nothing is unwritten for that, and nothing breaks.
        before = misses(platform)
        platform.admin.patch(API_SERVICE, API_SERVICE_NAME, {"spec": {"service": {"port": free_port()}}})
        eventually(lambda: misses(platform) > before, "the watcher misses the figures", PATIENCE_S)
        assert told_usage(platform, manifest)["memory"] == "200Mi"
    eventually(is_told_no_more, "what is not measured is told no more", PATIENCE_S)
    assert platform.ask("/healthz")[0] == 200
