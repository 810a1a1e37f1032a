"""Fixtures for the tests of sessions: a cluster with simulated nodes, plans, and a shared tenant.

The models in the plans define how the pod of a session ends.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from embedded.controlplane.plane import ControlPlane
from embedded.run.install_platform import install_session_crd
from embedded.toolchain.resolver import path_with
from tenancy.base.manifest import Manifest
from tests.platform import NewTenant, Platform, tenant_manifest
from tests.sessions.sessions import PLANS, SHARED_TENANT, Sessions, sessions_of, set_plans, start_watcher


@pytest.fixture(scope="package")
def control_plane(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    folder = tmp_path_factory.mktemp("sessions-plane")
    with ControlPlane(
        tools, folder, is_throw_away=True, has_nodes=True, before_controllers=install_session_crd
    ) as plane:
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
    """The platform with a running watcher. The original plans are in force."""
    if running_platform.process is None or running_platform.process.poll() is not None:
        plans_file.write_text(yaml.safe_dump(PLANS))
        start_watcher(running_platform, plans_file)
    set_plans(running_platform, plans_file, PLANS)
    return running_platform


@pytest.fixture
def new_tenant(platform: Platform) -> Iterator[NewTenant]:
    """A function that creates a Tenant and waits until it is Active.

    After the test, the fixture deletes the Tenants. It does not run a preview for them, because a preview
    takes longer than the test. For the shared tenant, a preview runs.
    """
    manifests: list[Manifest] = []

    def create(name: str, **spec: Any) -> Manifest:
        manifest = tenant_manifest(name, **spec)
        manifests.append(manifest)
        platform.apply(manifest)
        platform.await_active(manifest)
        return manifest

    yield create
    for manifest in manifests:
        platform.delete(manifest)


@pytest.fixture(scope="package")
def shared_sessions(running_platform: Platform) -> Iterator[Sessions]:
    """The sessions of the shared tenant.

    After the last test, the fixture checks that the tenant's stack is up to date.
    """
    running_platform.apply(SHARED_TENANT)
    running_platform.await_active(SHARED_TENANT)
    yield sessions_of(running_platform, SHARED_TENANT["metadata"]["name"])
    running_platform.verify_and_abandon([SHARED_TENANT])


@pytest.fixture
def sessions(platform: Platform, shared_sessions: Sessions) -> Iterator[Sessions]:
    """The sessions of the shared tenant. There are no sessions at the start of the test.

    After the test, the fixture deletes all sessions.
    """
    platform.await_active(SHARED_TENANT)
    yield shared_sessions
    shared_sessions.clear()
    shared_sessions.set_limit(None)
