"""Fixtures for all tests: the tools, the CRDs of other projects, a real control plane, and a running watcher.

The watcher uses the platform's ServiceAccount and RBAC rules. Each xdist worker has its own control plane,
platform and temporary folder.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from embedded.controlplane.plane import ControlPlane
from embedded.run.install_platform import install_session_crd
from embedded.toolchain.crds import crd_manifests
from embedded.toolchain.resolver import ensure_tools, path_with
from tenancy.base.manifest import Manifest
from tests import preparation
from tests.audit_log import AuditLog
from tests.platform import NewTenant, Platform, tenant_manifest
from tests.state_backends import StateServers, state_servers

pytest_plugins = ["tests.costs"]

CrdFiles = Callable[[str], list[Manifest]]

# The environment variable that lists the tools that were missing at the start of the test run.
_MISSING_TOOLS = "TENANCY_TESTS_MISSING_TOOLS"
# Folders whose files share one platform: a single worker runs all tests of such a folder.
_WHOLE_FOLDERS = ("tests/admission/", "tests/platform_stack/", "tests/sessions/", "tests/usage/")


def pytest_addoption(parser: pytest.Parser) -> None:
    tiers = parser.getgroup("tiers").addoption
    tiers("--quick", action="store_true", help="run only tests that need no cluster, browser or build")
    tiers("--long", action="store_true", help="run only the load and soak tests, at full size")


def pytest_sessionstart(session: pytest.Session) -> None:
    """If there are several workers, get the tests' dependencies in a background process."""
    options = session.config.option
    if options.numprocesses and not options.quick and not options.collectonly:
        # All workers must sort the tests in the same order, so the controller process lists the missing
        # tools.
        os.environ[_MISSING_TOOLS] = ",".join(preparation.missing_tools())
        command = [sys.executable, "-m", "tests.preparation"]
        # Discard the output. A test that waits for a dependency prints the progress, and reports an error.
        devnull = subprocess.DEVNULL
        process = subprocess.Popen(command, stdin=devnull, stdout=devnull, stderr=devnull)
        session.config.add_cleanup(process.terminate)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests that `--quick` or `--long` selects.

    Move tests that need a missing tool to the end of the run.
    """
    is_quick, is_long = config.option.quick, config.option.long
    deselected = [
        item
        for item in items
        if is_long != (item.get_closest_marker("long") is not None)
        or (is_quick and preparation.needs_tools(item))
    ]
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        items[:] = [item for item in items if item not in set(deselected)]
    if not config.pluginmanager.has_plugin("randomly"):
        missing = os.environ.get(_MISSING_TOOLS, "").split(",")
        waiting_units = {
            _unit(item.nodeid) for item in items if set(missing) & set(preparation.dependencies(item))
        }
        items.sort(key=lambda item: _unit(item.nodeid) in waiting_units)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Get the dependencies of the test before its time limit starts.

    A build can take longer than the time limit.
    """
    for name in preparation.dependencies(item):
        preparation.prepare(name)
    return (yield)


def _unit(nodeid: str) -> str:
    """The file of the test. If the files of its folder share a platform, the folder."""
    file = nodeid.partition("::")[0]
    return next((folder for folder in _WHOLE_FOLDERS if file.startswith(folder)), file)


class _ByUnit(LoadScopeScheduling):  # type: ignore[misc]
    """An xdist scheduler that gives all tests of a unit to the same worker.

    `_unit` returns the unit of a test.
    """

    def _split_scope(self, nodeid: str) -> str:
        return _unit(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    return _ByUnit(config, log)


@pytest.fixture(scope="session")
def tools() -> dict[str, Path]:
    """The paths of all tools, keyed by name. The fixture downloads or builds missing tools."""
    return ensure_tools()


@pytest.fixture(scope="session")
def gatekeeper_binary() -> Path:
    return preparation.path("gatekeeper")


@pytest.fixture(scope="session")
def coredns_binary() -> Path:
    return preparation.path("coredns")


@pytest.fixture(scope="session")
def metrics_server_binary() -> Path:
    return preparation.path("metrics-server")


@pytest.fixture(scope="session")
def promtool_binary() -> Path:
    return preparation.path("promtool")


@pytest.fixture(scope="session")
def rclone_binary() -> Path:
    return preparation.path("rclone")


@pytest.fixture(scope="session")
def postgres_programs() -> Path:
    """The folder with the programs of PostgreSQL."""
    return preparation.path("postgres")


@pytest.fixture(scope="session")
def servers(
    rclone_binary: Path, postgres_programs: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StateServers]:
    """An S3 server and a PostgreSQL server, for state backends."""
    with state_servers(rclone_binary, postgres_programs, tmp_path_factory.mktemp("servers")) as running:
        yield running


@pytest.fixture(scope="session")
def crd_files() -> CrdFiles:
    """A function that returns the CRDs of a project: gatekeeper, gateway-api, hnc, istio or prometheus."""
    return cache(crd_manifests)


@pytest.fixture(scope="session")
def audit_log(tmp_path_factory: pytest.TempPathFactory) -> AuditLog:
    """The audit log of the control plane. It contains the watcher's requests."""
    return AuditLog(tmp_path_factory.mktemp("audit"))


@pytest.fixture(scope="session")
def control_plane(
    tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory, audit_log: AuditLog
) -> Iterator[ControlPlane]:
    """The control plane that all tests share. Each test uses unique names, and removes its objects."""
    folder = tmp_path_factory.mktemp("control-plane")
    with ControlPlane(
        tools,
        folder,
        is_throw_away=True,
        api_server_flags=audit_log.flags,
        before_controllers=install_session_crd,
    ) as plane:
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
    """The platform with a running watcher.

    If an earlier test stopped the watcher, the fixture starts it again.
    """
    running_platform.ensure_started()
    return running_platform


@pytest.fixture
def new_tenant(platform: Platform) -> Iterator[NewTenant]:
    """A function that applies a Tenant.

    After the test, the fixture deletes the Tenants, but keeps their objects. Each test must use unique tenant
    names. If the watcher has applied a Tenant successfully, the tenant's stack must be up to date after the
    test.
    """
    created: list[Manifest] = []

    def create(name: str, group: str = "platform.ai", **spec: Any) -> Manifest:
        manifest = tenant_manifest(name, group, **spec)
        created.append(manifest)
        platform.add(manifest)
        return manifest

    yield create
    platform.verify_and_abandon(created)
