"""The web page while the watcher starts and while it stops."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.client import Cluster
from cluster.plans_in_force import FilePlans
from embedded.controlplane.plane import ControlPlane
from embedded.toolchain.resolver import path_with
from stacks.command import PulumiProcess
from stacks.stack import Stacks
from tenancy.plans import SHIPPED_PLANS
from tests.page.client import PageClient
from tests.platform import Platform
from watcher.app import Watcher
from watcher.http import serve_http
from watcher.options import Options
from watcher.page.live_feed import Feed
from watcher.page.page_data import PageData
from watcher.page.routes import PageRoutes
from watcher.usage.store import UsageStore


@pytest.fixture
def starting(
    control_plane: ControlPlane, tools: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[PageClient]:
    """A client of the web page of a watcher that has not listed any objects yet."""
    monkeypatch.setenv("PATH", path_with(tools))
    cluster = Cluster.connect(control_plane.kubeconfig)
    stacks = Stacks(f"file://{tmp_path}", tmp_path, PulumiProcess(60))
    usage = UsageStore(tmp_path / "usage.db")
    plans = FilePlans(cluster, SHIPPED_PLANS)
    watcher = Watcher(cluster, stacks, plans, usage, Options(workers=1))
    data = PageData(
        cluster, watcher.tenants, watcher.managed, watcher.differences, watcher.sessions, stacks, plans
    )
    feed = Feed(data.row)
    routes = PageRoutes(data, feed, usage, watcher.not_listed, watcher.election.state).routes()
    server = serve_http("127.0.0.1", 0, {}, {}, routes)
    yield PageClient(server.server_port)
    server.shutdown()


def test_tenant_is_not_reported_missing_before_the_first_list(starting: PageClient) -> None:
    for path in ("/api/tenants/acme", "/api/tenants/acme/history"):
        response = starting.get(path)
        assert response.status == 503
        assert "not listed yet" in response.data["message"]
    assert starting.get("/api/tenants").data["tenants"] == []


def test_open_stream_ends_with_the_watcher(platform: Platform, page: PageClient) -> None:
    with page.stream() as stream:
        platform.stop()
        stream.await_end()
