"""A cluster of its own for usage: with nodes, so that pods run. And a browser on its page."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded.controlplane.plane import ControlPlane
from tests.cli.conftest import tenancy
from tests.page.browser import browser, pytest_collection_finish, tab

__all__ = ["browser", "pytest_collection_finish", "tab", "tenancy"]


@pytest.fixture(scope="session")
def control_plane(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    folder = tmp_path_factory.mktemp("usage-plane")
    with ControlPlane(tools, folder, is_throw_away=True, has_nodes=True) as plane:
        yield plane
