"""A cluster of its own for usage: with nodes, so that pods run, and a watcher that looks each second. And a
browser on its page."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded.controlplane.plane import ControlPlane
from embedded.toolchain.resolver import path_with
from tests.cli.conftest import tenancy
from tests.page.browser import browser, tab
from tests.platform import Platform
from tests.usage.cluster import PERIODS

__all__ = ["browser", "tab", "tenancy"]


@pytest.fixture(scope="package")
def control_plane(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    folder = tmp_path_factory.mktemp("usage-plane")
    with ControlPlane(tools, folder, is_throw_away=True, has_nodes=True) as plane:
        yield plane


@pytest.fixture(scope="package")
def running_platform(
    tools: dict[str, Path], control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Platform]:
    """Not that of the other tests: it would be there already, on the cluster without nodes."""
    folder = tmp_path_factory.mktemp("usage-platform")
    platform = Platform.install(control_plane.kubeconfig, path_with(tools), folder)
    platform.start(*PERIODS)
    yield platform
    if platform.process is not None:
        platform.stop()


@pytest.fixture
def platform(running_platform: Platform) -> Platform:
    """The platform with its watcher running, whatever the test before did to it."""
    running_platform.ensure_started(*PERIODS)
    return running_platform
