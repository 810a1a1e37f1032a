"""A control plane with the installed platform, for one column of the benchmark."""

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
    """A cluster, a folder, and the environment variables for programs that use both."""

    admin: Cluster
    folder: Path
    # All columns use the identity of the watcher, so the API server does the same work for each of them.
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
            # Without access to the internet, the check for updates would delay each command.
            "PULUMI_SKIP_UPDATE_CHECK": "true",
        }


@contextmanager
def started_site(tools: Mapping[str, Path], folder: Path) -> Iterator[Site]:
    """Start a control plane with an empty folder, and install the platform."""
    with ControlPlane(tools, folder / "cluster", is_throw_away=True) as plane:
        admin = Cluster.connect(plane.kubeconfig)
        install_platform(admin)
        kubeconfig = folder / "watcher.kubeconfig"
        write_watcher_kubeconfig(admin, plane.kubeconfig, kubeconfig)
        (folder / "state").mkdir()
        yield Site(admin, folder, kubeconfig, path_with(tools))
