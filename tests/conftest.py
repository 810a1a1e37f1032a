"""What every test may ask for: the tools, real CRDs, one real control plane, and one watcher in it.

The watcher runs as its own ServiceAccount with the rights that are shipped. With several workers, each has a
control plane, a platform and a folder of its own.
"""

import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from embedded.controlplane.plane import ControlPlane
from embedded.toolchain.crds import crd_manifests
from embedded.toolchain.resolver import ensure_tools, path_with
from tenancy.base.manifest import Manifest
from tests import preparation
from tests.platform import NewTenant, Platform, tenant_manifest

pytest_plugins = ["tests.costs"]

CrdFiles = Callable[[str], list[Manifest]]

# Folders whose files share a platform of their own: one worker runs all of them.
_WHOLE_FOLDERS = ("tests/admission/", "tests/sessions/", "tests/usage/")


def pytest_addoption(parser: pytest.Parser) -> None:
    tiers = parser.getgroup("tiers").addoption
    tiers("--quick", action="store_true", help="only tests that need no cluster, no browser and no build")
    tiers("--long", action="store_true", help="only load and soak tests, at full size")


def pytest_sessionstart(session: pytest.Session) -> None:
    """In a run with workers, get what only some tests need while the others run."""
    options = session.config.option
    if options.numprocesses and not options.quick and not options.collectonly:
        command = [sys.executable, "-m", "tests.preparation"]
        # Silent: whoever waits for a part says so, and why it failed.
        nothing = subprocess.DEVNULL
        process = subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing)
        session.config.add_cleanup(process.terminate)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the tier; those that wait for a build come last, so that it has time."""
    is_quick, is_long = config.option.quick, config.option.long
    left_out = [
        item
        for item in items
        if is_long != (item.get_closest_marker("long") is not None)
        or (is_quick and preparation.needs_tools(item))
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]
    if not config.pluginmanager.has_plugin("randomly"):
        slow = {_unit(item.nodeid) for item in items if preparation.names(item)}
        items.sort(key=lambda item: _unit(item.nodeid) in slow)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """A build or a download may last longer than a test may: it comes before the test's time begins."""
    for name in preparation.names(item):
        preparation.outcome(name)
    return (yield)


def _unit(nodeid: str) -> str:
    """The file of the test, or its folder where the files share a platform."""
    file = nodeid.partition("::")[0]
    return next((folder for folder in _WHOLE_FOLDERS if file.startswith(folder)), file)


class _ByUnit(LoadScopeScheduling):  # type: ignore[misc]
    """Hands out the tests of one unit at a time to each worker."""

    def _split_scope(self, nodeid: str) -> str:
        return _unit(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    return _ByUnit(config, log)


@pytest.fixture(scope="session")
def tools() -> dict[str, Path]:
    """The path of every tool, built or downloaded if need be."""
    return ensure_tools()


@pytest.fixture(scope="session")
def gatekeeper_binary() -> Path:
    return preparation.tool("gatekeeper")


@pytest.fixture(scope="session")
def coredns_binary() -> Path:
    return preparation.tool("coredns")


@pytest.fixture(scope="session")
def metrics_server_binary() -> Path:
    return preparation.tool("metrics-server")


@pytest.fixture(scope="session")
def promtool_binary() -> Path:
    return preparation.tool("promtool")


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
    running_platform.ensure_started()
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
        platform.add(manifest)
        return manifest

    yield make
    platform.end(made)
