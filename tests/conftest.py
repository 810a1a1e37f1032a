"""What every test may ask for: the tools, real CRDs, and one real control plane for the whole session."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from embedded.controlplane.plane import ControlPlane
from tenancy.manifest import Manifest

CrdFiles = Callable[[str], list[Manifest]]

# Fixture -> the tool it hands out: those that only tests use.
_TEST_TOOLS = {"gatekeeper_binary": "gatekeeper", "coredns_binary": "coredns"}


def pytest_collection_finish(session: pytest.Session) -> None:
    """A build may last longer than any test: it comes before the first, where its progress is seen, too."""
    used = {fixture for item in session.items for fixture in getattr(item, "fixturenames", ())}
    names = [tool for fixture, tool in _TEST_TOOLS.items() if fixture in used]
    if names and not session.config.option.collectonly:
        from embedded.toolchain.resolver import ensure_tools

        ensure_tools(names)


@pytest.fixture(scope="session")
def tools() -> dict[str, Path]:
    """The path of every tool, built or downloaded if need be."""
    from embedded.toolchain import resolver as toolchain

    return toolchain.ensure_tools()


@pytest.fixture(scope="session")
def gatekeeper_binary() -> Path:
    from embedded.toolchain import resolver as toolchain

    return toolchain.ensure_tools(["gatekeeper"])["gatekeeper"]


@pytest.fixture(scope="session")
def coredns_binary() -> Path:
    from embedded.toolchain import resolver as toolchain

    return toolchain.ensure_tools(["coredns"])["coredns"]


@pytest.fixture(scope="session")
def crd_files() -> CrdFiles:
    """The CRDs of a project by its name: gatekeeper, gateway-api, hnc, istio, prometheus."""
    from embedded.toolchain.crds import crd_manifests

    return cache(crd_manifests)


@pytest.fixture(scope="session")
def control_plane(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """One cluster shared by all tests: use names of your own in it, and clean up after yourself."""
    with ControlPlane(tools, tmp_path_factory.mktemp("control-plane"), is_throw_away=True) as plane:
        yield plane
