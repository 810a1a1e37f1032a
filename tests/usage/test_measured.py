"""What pods really use is told where the cluster measures it, and its end breaks nothing."""

from decimal import Decimal
from pathlib import Path

import pytest
from playwright.sync_api import expect

from embedded.controlplane.plane import ControlPlane
from tenancy.base.quantity import quantity_value
from tests.cli.conftest import Run
from tests.embedded.metricsserver import API_SERVICE, API_SERVICE_NAME, running_metrics_server
from tests.page.browser import Tab
from tests.platform import NewTenant, Platform
from tests.usage.cluster import start_pods, told_usage
from tests.waiting import eventually

A, B = "tenant-busy-a", "tenant-busy-b"
MIB = 2**20
# On which nobody listens.
NO_PORT = 1


def set_port(platform: Platform, port: int) -> int:
    """Where the API server finds metrics-server; returns where it did before."""
    service = platform.admin.get(API_SERVICE, API_SERVICE_NAME)
    assert service is not None
    platform.admin.patch(API_SERVICE, API_SERVICE_NAME, {"spec": {"service": {"port": port}}})
    before: int = service["spec"]["service"]["port"]
    return before


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
    start_pods(platform, "default", 1, cpu="7", memory="7Gi")
    manifest = new_tenant("busy", plan="basic", namespaces=[{"name": "a"}, {"name": "b"}])
    platform.await_active(manifest)
    # Alike, so that the second is news at once, whichever is measured first.
    for namespace in (A, B):
        start_pods(platform, namespace, 1, cpu="150m", memory="100Mi")

    def is_told() -> bool:
        told = told_usage(platform, manifest)
        return told.get("memory") == "200Mi" and quantity_value(told["cpu"]) > Decimal("0.25")

    def is_told_no_more() -> bool:
        return told_usage(platform, manifest).keys() == {"pods", "quotas"}

    with running_metrics_server(metrics_server_binary, control_plane, tmp_path):
        eventually(is_told, "the sum is told")
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

        # One that does not answer is told no more after a few reads, and again when it does.
        before = misses(platform)
        port = set_port(platform, NO_PORT)
        eventually(is_told_no_more, "what can't be read is told no more")
        assert misses(platform) > before
        set_port(platform, port)
        eventually(is_told, "what can be read again is told again")
    eventually(is_told_no_more, "what is not measured is told no more")
    assert platform.ask("/healthz")[0] == 200
