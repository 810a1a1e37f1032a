"""What every test may ask for: the tools, and one real control plane for the whole pytest session."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded.controlplane.plane import ControlPlane


@pytest.fixture(scope="session")
def tools() -> dict[str, Path]:
    """The path of every tool, built or downloaded if need be."""
    from embedded.toolchain import resolver as toolchain

    return toolchain.ensure_tools()


@pytest.fixture(scope="session")
def control_plane(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """One cluster shared by all tests: use names of your own in it, and clean up after yourself."""
    with ControlPlane(tools, tmp_path_factory.mktemp("control-plane"), is_throw_away=True) as plane:
        yield plane
