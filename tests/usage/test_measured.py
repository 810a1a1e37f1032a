"""While the cluster serves metrics, the measured usage of pods is reported.

Without metrics, no error occurs.
"""

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
from tests.usage.cluster import start_pods, status_usage
from tests.waiting import eventually

A, B = "tenant-busy-a", "tenant-busy-b"
MIB = 2**20
# No program listens on this port.
UNUSED_PORT = 1


def set_port(platform: Platform, port: int) -> int:
    """Set the port under which the API server connects to metrics-server. Returns the previous port."""
    service = platform.admin.get(API_SERVICE, API_SERVICE_NAME)
    assert service is not None
    platform.admin.patch(API_SERVICE, API_SERVICE_NAME, {"spec": {"service": {"port": port}}})
    previous: int = service["spec"]["service"]["port"]
    return previous


def failed_read_count(platform: Platform) -> int:
    return sum(1 for line in platform.log() if line["message"] == "pod metrics not read")


def test_measured_usage_is_reported_while_the_cluster_measures_it(
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
    # Both pods use the same amount. So the usage of the second measured pod is always a significant change.
    for namespace in (A, B):
        start_pods(platform, namespace, 1, cpu="150m", memory="100Mi")

    def is_reported() -> bool:
        usage = status_usage(platform, manifest)
        return usage.get("memory") == "200Mi" and quantity_value(usage["cpu"]) > Decimal("0.25")

    def is_no_longer_reported() -> bool:
        return status_usage(platform, manifest).keys() == {"pods", "quotas"}

    with running_metrics_server(metrics_server_binary, control_plane, tmp_path):
        eventually(is_reported, "the status reports the sum")
        # The CPU usage is not exact, because it is an average over time.
        cpu = float(quantity_value(status_usage(platform, manifest)["cpu"]))
        assert cpu == pytest.approx(0.3, rel=0.15)
        series = platform.metrics("tenancy_usage_measured")
        assert series[A, "cpu", "busy"] == pytest.approx(0.15, rel=0.15)
        assert series[B, "memory", "busy"] == 100 * MIB
        assert "default" not in {namespace for namespace, *_ in series}

        tab.open("/tenants/busy")
        in_use = f"{status_usage(platform, manifest)['cpu']} CPU, 200Mi memory"
        expect(tab.page.get_by_role("main")).to_contain_text(in_use)
        assert f"In use  {in_use}" in tenancy("show", "busy").stdout.splitlines()

        # After a few failed reads, the usage is not reported until a read succeeds.
        before = failed_read_count(platform)
        port = set_port(platform, UNUSED_PORT)
        eventually(is_no_longer_reported, "the status no longer reports usage that cannot be read")
        assert failed_read_count(platform) > before
        set_port(platform, port)
        eventually(is_reported, "the status reports usage again")
    eventually(is_no_longer_reported, "the status no longer reports usage that is not measured")
    assert platform.http_get("/healthz")[0] == 200
