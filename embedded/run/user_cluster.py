"""Reads the user's kubeconfig. `./dev run` reads this file only with the option `--cluster`."""

import hashlib
import subprocess
from pathlib import Path

import yaml

from embedded.controlplane.kubeconfig import write_private
from embedded.errors import SetupFailed


def copy_context(kubectl: Path, context: str, path: Path) -> None:
    """Copy one context of the user's kubeconfig, with its credentials, to a new kubeconfig at `path`.

    If `context` is empty, copies the current context. Raises SetupFailed if kubectl fails.
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
    """The name of the folder with the Pulumi backend for the cluster of this kubeconfig.

    Each cluster has a separate backend, because tenants in different clusters may have the same name.
    """
    server: str = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
    return f"state-{hashlib.sha256(server.encode()).hexdigest()[:12]}"
