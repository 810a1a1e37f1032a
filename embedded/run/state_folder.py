"""The paths in the state folder of `./dev run`. By default, this folder is `.dev` in the checkout."""

import secrets
from dataclasses import dataclass
from pathlib import Path

from embedded.controlplane.kubeconfig import write_private
from embedded.environment import state_folder


@dataclass(frozen=True)
class StateFolder:
    root: Path

    @classmethod
    def current(cls) -> "StateFolder":
        return cls(state_folder())

    @property
    def control_plane(self) -> Path:
        return self.root / "cluster"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def pulumi_home(self) -> Path:
        return self.root / "pulumi"

    @property
    def watcher_run(self) -> Path:
        return self.root / "run"

    @property
    def watcher_kubeconfig(self) -> Path:
        return self.root / "watcher.kubeconfig"

    @property
    def user_kubeconfig(self) -> Path:
        """The kubeconfig with a copy of the context that `--cluster` selects."""
        return self.root / "cluster.connection.kubeconfig"

    @property
    def commands(self) -> Path:
        """The folder that contains the `tenancy` command. `./dev env` adds this folder to PATH."""
        return self.root / "bin"

    @property
    def daemon_log(self) -> Path:
        """The log of `./dev run --detach`."""
        return self.logs / "session.log"

    @property
    def watcher_log(self) -> Path:
        return self.logs / "watcher.log"

    @property
    def tools_log(self) -> Path:
        """The log of the background process that downloads or builds the later tools."""
        return self.logs / "tools.log"

    @property
    def record(self) -> Path:
        return self.root / "session.json"

    @property
    def lock(self) -> Path:
        return self.root / "session.lock"

    def backend(self, name: str = "state") -> Path:
        return self.root / name

    def create(self) -> None:
        """Create the folders. Only their owner can read them."""
        for folder in (self.root, self.logs, self.pulumi_home, self.watcher_run):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def passphrase(self) -> str:
        """The passphrase that encrypts the secrets of the Pulumi stacks. It is generated on first use."""
        path = self.root / "passphrase"
        if not path.exists():
            write_private(path, secrets.token_urlsafe(24))
        return path.read_text()
