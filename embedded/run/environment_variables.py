"""How a session is reached: the environment variables for kubectl and pulumi, and the words for a person.

Printed by `./dev env` and `run`, and given to the watcher, so that all see the same cluster and stacks.
"""

import os
from pathlib import Path

from embedded.run.record import SessionRecord
from embedded.run.state_folder import StateFolder
from embedded.toolchain.resolver import path_with


def session_variables(folder: StateFolder, record: SessionRecord) -> dict[str, str]:
    return {
        "KUBECONFIG": record.kubeconfig,
        "PATH": os.pathsep.join((str(folder.commands), path_with(_tools(record)))),
        "PULUMI_BACKEND_URL": record.backend_url,
        "PULUMI_CONFIG_PASSPHRASE": folder.passphrase(),
        "PULUMI_HOME": str(folder.pulumi_home),
        **({"TENANCY_PAGE": record.page_url.rstrip("/")} if record.page_url else {}),
    }


def _tools(record: SessionRecord) -> dict[str, Path]:
    return {name: Path(path) for name, path in record.tools.items()}


def reach_text(record: SessionRecord) -> str:
    return (
        f"KUBECONFIG  {record.kubeconfig}\n"
        f"state       {record.backend_url}\n"
        f"page        {record.page_url}\n"
        'In another terminal, for kubectl, pulumi and tenancy: eval "$(./dev env)"'
    )
