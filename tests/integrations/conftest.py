"""Fixtures that run the integrated projects. Each test module has its own cluster.

The tests install and remove cluster-wide objects: CRDs, and a webhook that receives every request.
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
    """A control plane that admits privileged pods unless a policy rejects them, as most clusters do."""

    def _start_process(self, name: str, argv: list[str | Path]) -> None:
        super()._start_process(name, [*argv, "--allow-privileged=true"] if name == "kube-apiserver" else argv)


@pytest.fixture(scope="module")
def control_plane(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """The module's own control plane. It overrides the one that all other tests share."""
    with _OrdinaryPlane(tools, tmp_path_factory.mktemp("control-plane"), is_throw_away=True) as plane:
        yield plane


@pytest.fixture(scope="module")
def gatekeeper(
    gatekeeper_binary: Path,
    control_plane: ControlPlane,
    crd_files: CrdFiles,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Gatekeeper]:
    """A running Gatekeeper. Its webhook receives every request of the module's tests."""
    folder = tmp_path_factory.mktemp("gatekeeper")
    with running_gatekeeper(gatekeeper_binary, control_plane, crd_files("gatekeeper"), folder) as running:
        yield running


@pytest.fixture(scope="module")
def running_platform(
    tools: dict[str, Path], control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Platform]:
    """The platform in this module's cluster."""
    folder = tmp_path_factory.mktemp("platform")
    platform = Platform.install(control_plane.kubeconfig, path_with(tools), folder)
    platform.start()
    yield platform
    if platform.process is not None:
        platform.stop()


@pytest.fixture
def platform(running_platform: Platform) -> Platform:
    """The platform with a running watcher, whatever the previous test did."""
    running_platform.ensure_started()
    return running_platform


@pytest.fixture
def new_tenant(platform: Platform) -> Iterator[NewTenant]:
    """A function that applies a tenant with all integrations. The tenants are abandoned after the test."""
    manifests: list[Manifest] = []

    def create(name: str, **spec: Any) -> Manifest:
        integrations = {integration: {"enabled": True} for integration in ("istio", "gatekeeper", "hnc")}
        manifest = tenant_manifest(name, **integrations | spec)
        manifests.append(manifest)
        platform.apply(manifest)
        return manifest

    yield create
    platform.verify_and_abandon(manifests)
