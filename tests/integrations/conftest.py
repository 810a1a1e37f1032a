"""Fixtures that run the projects of the integrations. Each test module has its own cluster.

The tests install and remove objects that affect the whole cluster, such as CRDs and a webhook for all
requests.
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
    """A control plane that accepts privileged pods unless a policy rejects them.

    Most clusters behave like this.
    """

    def _start_process(self, name: str, argv: list[str | Path]) -> None:
        super()._start_process(name, [*argv, "--allow-privileged=true"] if name == "kube-apiserver" else argv)


@pytest.fixture(scope="module")
def control_plane(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """The control plane of this module. It replaces the control plane that other tests share."""
    with _OrdinaryPlane(tools, tmp_path_factory.mktemp("control-plane"), is_throw_away=True) as plane:
        yield plane


@pytest.fixture(scope="module")
def gatekeeper(
    gatekeeper_binary: Path,
    control_plane: ControlPlane,
    crd_files: CrdFiles,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Gatekeeper]:
    """A running Gatekeeper. Its webhook receives every request of this module's tests."""
    folder = tmp_path_factory.mktemp("gatekeeper")
    with running_gatekeeper(gatekeeper_binary, control_plane, crd_files("gatekeeper"), folder) as running:
        yield running


@pytest.fixture(scope="module")
def running_platform(
    tools: dict[str, Path], control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Platform]:
    """The platform in the cluster of this module."""
    folder = tmp_path_factory.mktemp("platform")
    platform = Platform.install(control_plane.kubeconfig, path_with(tools), folder)
    platform.start()
    yield platform
    if platform.process is not None:
        platform.stop()


@pytest.fixture
def platform(running_platform: Platform) -> Platform:
    """The platform with a running watcher, even if the previous test has stopped the watcher."""
    running_platform.ensure_started()
    return running_platform


@pytest.fixture
def new_tenant(platform: Platform) -> Iterator[NewTenant]:
    """A function that applies a Tenant with all integrations.

    After the test, the fixture deletes the Tenants, but keeps their objects.
    """
    manifests: list[Manifest] = []

    def create(name: str, **spec: Any) -> Manifest:
        integrations = {integration: {"enabled": True} for integration in ("istio", "gatekeeper", "hnc")}
        manifest = tenant_manifest(name, **integrations | spec)
        manifests.append(manifest)
        platform.apply(manifest)
        return manifest

    yield create
    platform.verify_and_abandon(manifests)
