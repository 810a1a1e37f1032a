"""How a session is reached: the environment variables for kubectl and pulumi, and the words for a person.

Printed by `./dev env` and `run`, and given to the watcher, so that all see the same cluster and stacks.
"""

from pathlib import Path

from embedded.session.record import SessionRecord
from embedded.session.state import StateFolder
from embedded.toolchain.resolver import path_with


def session_variables(folder: StateFolder, record: SessionRecord) -> dict[str, str]:
    return {
        "KUBECONFIG": record.kubeconfig,
        "PATH": path_with({name: Path(path) for name, path in record.tools.items()}),
        "PULUMI_BACKEND_URL": record.backend_url,
        "PULUMI_CONFIG_PASSPHRASE": folder.passphrase(),
        "PULUMI_HOME": str(folder.pulumi_home),
    }


def reach_text(record: SessionRecord) -> str:
    return (
        f"KUBECONFIG  {record.kubeconfig}\n"
        f"state       {record.backend_url}\n"
        'In another terminal, for kubectl and pulumi: eval "$(./dev env)"'
    )
