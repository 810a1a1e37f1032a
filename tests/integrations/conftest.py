"""The projects that tenants are integrated with, running for real, in a cluster of each module's own.

What these tests install and remove is the whole cluster's: CRDs, and a webhook that is asked each time.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from embedded.controlplane.plane import ControlPlane
from embedded.toolchain.resolver import path_with
from tenancy.base.manifest import Manifest
from tests.conftest import CrdFiles
from tests.integrations.gatekeeper import Gatekeeper, running_gatekeeper
from tests.platform import Platform, tenant_manifest

NewTenant = Callable[..., Manifest]


class _OrdinaryPlane(ControlPlane):
    """Takes privileged pods where no policy forbids them, as most clusters do."""

    def _run(self, name: str, argv: list[str | Path]) -> None:
        super()._run(name, [*argv, "--allow-privileged=true"] if name == "kube-apiserver" else argv)


@pytest.fixture(scope="module")
def control_plane(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Instead of the one that all other tests share."""
    with _OrdinaryPlane(tools, tmp_path_factory.mktemp("control-plane"), is_throw_away=True) as plane:
        yield plane


@pytest.fixture(scope="module")
def gatekeeper(
    gatekeeper_binary: Path,
    control_plane: ControlPlane,
    crd_files: CrdFiles,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Gatekeeper]:
    """For the tests of one module: while it runs, every request of every test goes through it."""
    folder = tmp_path_factory.mktemp("gatekeeper")
    with running_gatekeeper(gatekeeper_binary, control_plane, crd_files("gatekeeper"), folder) as running:
        yield running


@pytest.fixture(scope="module")
def running_platform(
    tools: dict[str, Path], control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Platform]:
    """The product in this module's cluster."""
    folder = tmp_path_factory.mktemp("platform")
    platform = Platform.install(control_plane.kubeconfig, path_with(tools), folder)
    platform.start()
    yield platform
    if platform.process is not None:
        platform.stop()


@pytest.fixture
def platform(running_platform: Platform) -> Platform:
    """The same with its watcher running, whatever the test before did to it."""
    running_platform.ensure_started()
    return running_platform


@pytest.fixture
def new_tenant(platform: Platform) -> Iterator[NewTenant]:
    """Applies a tenant with all integrations, and deletes it after the test without waiting."""
    made: list[Manifest] = []

    def make(name: str, **spec: Any) -> Manifest:
        integrations = {integration: {"enabled": True} for integration in ("istio", "gatekeeper", "hnc")}
        manifest = tenant_manifest(name, **integrations | spec)
        made.append(manifest)
        platform.apply(manifest)
        return manifest

    yield make
    platform.end(made)
