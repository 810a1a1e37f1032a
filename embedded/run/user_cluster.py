"""Reads the user's kubeconfig for `./dev run --cluster`. Without this option, it is not read."""

import hashlib
import subprocess
from pathlib import Path

import yaml

from embedded.controlplane.kubeconfig import write_private
from embedded.errors import SetupFailed


def copy_context(kubectl: Path, context: str, path: Path) -> None:
    """Write a kubeconfig to `path` that contains only this context of the user's kubeconfig.

    It contains the credentials of the context. An empty `context` means the current context. If kubectl
    fails, raises SetupFailed.
    """
    command: list[str | Path] = [kubectl, "config", "view", "--raw", "--minify", "--flatten"]
    if context:
        command += ["--context", context]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise SetupFailed(
            f"Cannot read the context from your kubeconfig: {result.stderr.strip()}\n"
            "List the contexts with `kubectl config get-contexts`, and select one with"
            " ./dev run --cluster CONTEXT."
        )
    write_private(path, result.stdout)


def backend_name(kubeconfig: Path) -> str:
    """The name of the folder for the Pulumi backend of a cluster.

    Each cluster has a separate backend, because tenants in different clusters may have the same name.
    """
    server: str = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
    return f"state-{hashlib.sha256(server.encode()).hexdigest()[:12]}"
