"""Starts a control plane for one column of the benchmark, and installs the platform's objects in it."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cluster.client import Cluster
from embedded.controlplane.plane import ControlPlane
from embedded.run.install_platform import install_platform, write_watcher_kubeconfig
from embedded.toolchain.resolver import path_with


@dataclass(frozen=True)
class Site:
    """A control plane, a folder for files, and the environment variables for the measured programs."""

    admin: Cluster
    folder: Path
    # The kubeconfig of the watcher's service account. All columns use it, so that the API server does the
    # same work in each column.
    kubeconfig: Path
    path: str

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "KUBECONFIG": str(self.kubeconfig),
            "PATH": self.path,
            "PULUMI_BACKEND_URL": f"file://{self.folder / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE": "bench",
            "PULUMI_HOME": str(self.folder / "pulumi"),
            # Without internet access, Pulumi's check for updates would delay each command.
            "PULUMI_SKIP_UPDATE_CHECK": "true",
        }


@contextmanager
def started_site(tools: Mapping[str, Path], folder: Path) -> Iterator[Site]:
    """Start a control plane, and install the platform's objects in it. All files are stored in `folder`.

    The control plane stops when the `with` block ends.
    """
    with ControlPlane(tools, folder / "cluster", is_throw_away=True) as plane:
        admin = Cluster.connect(plane.kubeconfig)
        install_platform(admin)
        kubeconfig = folder / "watcher.kubeconfig"
        write_watcher_kubeconfig(admin, plane.kubeconfig, kubeconfig)
        (folder / "state").mkdir()
        yield Site(admin, folder, kubeconfig, path_with(tools))
