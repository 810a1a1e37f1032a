"""One watcher for all tests here, running as its own ServiceAccount with the rights that are shipped."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from embedded.controlplane.plane import ControlPlane
from embedded.toolchain.resolver import path_with
from tenancy.manifest import Manifest
from tests.platform import Platform, tenant_manifest

NewTenant = Callable[..., Manifest]


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
    """Applies a tenant, and deletes it after the test without waiting: each test has names of its own."""
    made: list[Manifest] = []

    def make(name: str, group: str = "platform.ai", **spec: Any) -> Manifest:
        manifest = tenant_manifest(name, group, **spec)
        made.append(manifest)
        platform.apply(manifest)
        return manifest

    yield make
    for manifest in made:
        platform.delete(manifest)
