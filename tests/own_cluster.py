"""Installs the platform on a new cluster.

Test files use it if their tests would affect tenants of other tests.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from embedded.controlplane.plane import ControlPlane
from embedded.run.install_platform import install_session_crd
from embedded.toolchain.resolver import path_with
from tests.platform import Platform


@contextmanager
def platform_on_own_cluster(
    tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory, name: str
) -> Iterator[Platform]:
    """Start a control plane and install the platform. On exit, stop the watcher and the control plane.

    The function does not start the watcher. `name` is a part of the names of the temporary folders.
    """
    data = tmp_path_factory.mktemp(f"{name}-plane")
    with ControlPlane(tools, data, is_throw_away=True, before_controllers=install_session_crd) as plane:
        folder = tmp_path_factory.mktemp(f"{name}-platform")
        platform = Platform.install(plane.kubeconfig, path_with(tools), folder)
        yield platform
        platform.stop()
