"""Fixtures for the tests of usage: a cluster with nodes, a watcher with short periods, and a browser."""

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
    """The platform of this package. It replaces the shared platform, whose cluster has no nodes."""
    folder = tmp_path_factory.mktemp("usage-platform")
    platform = Platform.install(control_plane.kubeconfig, path_with(tools), folder)
    platform.start(*PERIODS)
    yield platform
    if platform.process is not None:
        platform.stop()


@pytest.fixture
def platform(running_platform: Platform) -> Platform:
    """The platform with a running watcher, even if the previous test has stopped the watcher."""
    running_platform.ensure_started(*PERIODS)
    return running_platform
