"""The user's own cluster, for `./dev run --cluster`: a copy of the one context that was asked for.

Called by the supervisor, and only when the flag is given: KUBECONFIG alone never leads here.
"""

import hashlib
import subprocess
from pathlib import Path

import yaml

from embedded.controlplane.kubeconfig import write_private
from embedded.errors import SetupFailed


def copy_context(kubectl: Path, context: str, path: Path) -> None:
    """Writes a kubeconfig with this context alone (where empty: the current one), credentials included."""
    command: list[str | Path] = [kubectl, "config", "view", "--raw", "--minify", "--flatten"]
    if context:
        command += ["--context", context]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SetupFailed(
            f"no cluster to use: {done.stderr.strip()}\n`kubectl config get-contexts` lists yours;"
            " name one with ./dev run --cluster CONTEXT."
        )
    write_private(path, done.stdout)


def backend_name(kubeconfig: Path) -> str:
    """Stacks of different clusters never share a backend: their tenants may have the same names."""
    server: str = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
    return f"state-{hashlib.sha256(server.encode()).hexdigest()[:12]}"
