"""A cluster of its own for sessions: with nodes, with plans that let pods end as tests want it, and with one
tenant that all tests share which need none of their own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from embedded.controlplane.plane import ControlPlane
from embedded.toolchain.resolver import path_with
from tenancy.base.manifest import Manifest
from tests.platform import NewTenant, Platform, tenant_manifest
from tests.sessions.sessions import HOME, PLANS, Sessions, sessions_of, set_plans, start_watcher


@pytest.fixture(scope="package")
def control_plane(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    folder = tmp_path_factory.mktemp("sessions-plane")
    with ControlPlane(tools, folder, is_throw_away=True, has_nodes=True) as plane:
        yield plane


@pytest.fixture(scope="package")
def plans_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sessions-plans") / "plans.yaml"


@pytest.fixture(scope="package")
def running_platform(
    tools: dict[str, Path],
    control_plane: ControlPlane,
    plans_file: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Platform]:
    folder = tmp_path_factory.mktemp("sessions-platform")
    platform = Platform.install(control_plane.kubeconfig, path_with(tools), folder)
    plans_file.write_text(yaml.safe_dump(PLANS))
    start_watcher(platform, plans_file)
    yield platform
    if platform.process is not None:
        platform.stop()


@pytest.fixture
def platform(running_platform: Platform, plans_file: Path) -> Platform:
    """With its watcher running and the plans as they were, whatever the test before did to them."""
    if running_platform.process is None or running_platform.process.poll() is not None:
        plans_file.write_text(yaml.safe_dump(PLANS))
        start_watcher(running_platform, plans_file)
    set_plans(running_platform, plans_file, PLANS)
    return running_platform


@pytest.fixture
def new_tenant(platform: Platform) -> Iterator[NewTenant]:
    """An active tenant of the test's own. Deleted after it without a preview: that costs more than the test,
    and the shared tenant has one."""
    made: list[Manifest] = []

    def make(name: str, **spec: Any) -> Manifest:
        manifest = tenant_manifest(name, **spec)
        made.append(manifest)
        platform.apply(manifest)
        platform.await_active(manifest)
        return manifest

    yield make
    for manifest in made:
        platform.delete(manifest)


@pytest.fixture(scope="package")
def home(running_platform: Platform) -> Iterator[Sessions]:
    """In the end its stack has nothing to do: no session has touched what is the stack's."""
    running_platform.apply(HOME)
    running_platform.await_active(HOME)
    yield sessions_of(running_platform, HOME["metadata"]["name"])
    running_platform.end([HOME])


@pytest.fixture
def sessions(platform: Platform, home: Sessions) -> Iterator[Sessions]:
    """Those of the shared tenant: none to begin with, and none left behind."""
    platform.await_active(HOME)
    yield home
    home.clear()
    home.set_limit(None)
