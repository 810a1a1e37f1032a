"""What every test may ask for: the tools, real CRDs, one real control plane, and one watcher in it.

The watcher runs as its own ServiceAccount with the rights that are shipped.
"""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from embedded.controlplane.plane import ControlPlane
from embedded.toolchain.crds import crd_manifests
from embedded.toolchain.resolver import ensure_tools, path_with
from tenancy.manifest import Manifest
from tests.platform import NewTenant, Platform, tenant_manifest

CrdFiles = Callable[[str], list[Manifest]]

# Fixture -> the tool it hands out: those that only tests use.
_TEST_TOOLS = {
    "gatekeeper_binary": "gatekeeper",
    "coredns_binary": "coredns",
    "metrics_server_binary": "metrics-server",
    "promtool_binary": "promtool",
}


def pytest_collection_finish(session: pytest.Session) -> None:
    """A build may last longer than any test: it comes before the first, where its progress is seen, too."""
    used = {fixture for item in session.items for fixture in getattr(item, "fixturenames", ())}
    names = [tool for fixture, tool in _TEST_TOOLS.items() if fixture in used]
    if names and not session.config.option.collectonly:
        ensure_tools(names)


@pytest.fixture(scope="session")
def tools() -> dict[str, Path]:
    """The path of every tool, built or downloaded if need be."""
    return ensure_tools()


@pytest.fixture(scope="session")
def gatekeeper_binary() -> Path:
    return ensure_tools(["gatekeeper"])["gatekeeper"]


@pytest.fixture(scope="session")
def coredns_binary() -> Path:
    return ensure_tools(["coredns"])["coredns"]


@pytest.fixture(scope="session")
def metrics_server_binary() -> Path:
    return ensure_tools(["metrics-server"])["metrics-server"]


@pytest.fixture(scope="session")
def promtool_binary() -> Path:
    return ensure_tools(["promtool"])["promtool"]


@pytest.fixture(scope="session")
def crd_files() -> CrdFiles:
    """The CRDs of a project by its name: gatekeeper, gateway-api, hnc, istio, prometheus."""
    return cache(crd_manifests)


@pytest.fixture(scope="session")
def control_plane(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """One cluster shared by all tests: use names of your own in it, and clean up after yourself."""
    with ControlPlane(tools, tmp_path_factory.mktemp("control-plane"), is_throw_away=True) as plane:
        yield plane


@pytest.fixture(scope="session")
def running_platform(
    tools: dict[str, Path], control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Platform]:
    platform = Platform.install(
        control_plane.kubeconfig, path_with(tools), tmp_path_factory.mktemp("platform")
    )
    platform.start()
    yield platform
    platform.stop()


@pytest.fixture
def platform(running_platform: Platform) -> Platform:
    """The platform with its watcher running, whatever the test before did to it."""
    if running_platform.process is None or running_platform.process.poll() is not None:
        running_platform.start()
    return running_platform


@pytest.fixture
def new_tenant(platform: Platform) -> Iterator[NewTenant]:
    """Applies a tenant, and deletes it after the test without waiting: each test has names of its own.

    Whatever the test has done to a tenant, if it is well in the end, a preview shows no change.
    """
    made: list[Manifest] = []

    def make(name: str, group: str = "platform.ai", **spec: Any) -> Manifest:
        manifest = tenant_manifest(name, group, **spec)
        made.append(manifest)
        platform.apply(manifest)
        return manifest

    yield make
    platform.end(made)
