"""The nodes of a control plane, and the rights of who plays them: puts nodes.yaml into the cluster.

Called by `plane.py` at every start; what is there already stays. The nodes come to life with KWOK, as its
configuration in kwok.yaml says.
"""

import subprocess
from pathlib import Path

from embedded.errors import SetupFailed

MANIFESTS = Path(__file__).with_name("nodes.yaml")


def apply_nodes(kubectl: Path, kubeconfig: Path) -> None:
    """Raises SetupFailed with kubectl's words when the API server does not take them."""
    command: list[str | Path] = [kubectl, "apply", "--server-side", "--force-conflicts"]
    command += ["--kubeconfig", kubeconfig, "--cache-dir", kubeconfig.with_name("kubectl"), "-f", MANIFESTS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SetupFailed(f"the nodes can't be made: {done.stderr.strip()}")
