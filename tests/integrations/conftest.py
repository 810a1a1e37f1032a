"""The projects that tenants are integrated with, running for real."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded.controlplane.plane import ControlPlane
from tests.conftest import CrdFiles
from tests.integrations.gatekeeper import Gatekeeper, running_gatekeeper


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
