"""Applies the file nodes.yaml to the embedded control plane.

The file contains Node objects, and RBAC rules for KWOK. KWOK is the program that simulates the nodes.
"""

import subprocess
from pathlib import Path

from embedded.errors import SetupFailed

MANIFESTS = Path(__file__).with_name("nodes.yaml")


def apply_nodes(kubectl: Path, kubeconfig: Path) -> None:
    """Apply nodes.yaml with kubectl. If kubectl fails, raises SetupFailed with kubectl's error output."""
    command: list[str | Path] = [kubectl, "apply", "--server-side", "--force-conflicts"]
    command += ["--kubeconfig", kubeconfig, "--cache-dir", kubeconfig.with_name("kubectl"), "-f", MANIFESTS]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise SetupFailed(f"kubectl cannot create the nodes: {result.stderr.strip()}")
