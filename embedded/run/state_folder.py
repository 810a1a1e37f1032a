"""Where a checkout keeps what its sessions leave behind: the folder `.dev`, which git ignores.

Used by every module of the session. Only says where things are; who makes them writes them.
"""

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
        """A copy of the one context that `--cluster` names."""
        return self.root / "cluster.kubeconfig"

    @property
    def commands(self) -> Path:
        """What a session puts on PATH."""
        return self.root / "bin"

    @property
    def session_log(self) -> Path:
        return self.logs / "session.log"

    @property
    def watcher_log(self) -> Path:
        return self.logs / "watcher.log"

    @property
    def tools_log(self) -> Path:
        """How far the tools are that a session gets while it runs."""
        return self.logs / "tools.log"

    @property
    def record(self) -> Path:
        return self.root / "session.json"

    @property
    def lock(self) -> Path:
        return self.root / "session.lock"

    def backend(self, name: str = "state") -> Path:
        return self.root / name

    def make(self) -> None:
        for folder in (self.root, self.logs, self.pulumi_home, self.watcher_run):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def passphrase(self) -> str:
        """What encrypts the secrets in the stacks: made once, then kept."""
        path = self.root / "passphrase"
        if not path.exists():
            write_private(path, secrets.token_urlsafe(24))
        return path.read_text()
