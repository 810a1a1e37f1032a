"""The environment variables that connect kubectl, pulumi, tenancy and the watcher to an instance."""

import os
from pathlib import Path

from embedded.run.record import InstanceRecord
from embedded.run.state_folder import StateFolder
from embedded.toolchain.resolver import path_with


def environment_variables(folder: StateFolder, record: InstanceRecord) -> dict[str, str]:
    return {
        "KUBECONFIG": record.kubeconfig,
        "PATH": os.pathsep.join((str(folder.commands), path_with(_tools(record)))),
        "PULUMI_BACKEND_URL": record.backend_url,
        "PULUMI_CONFIG_PASSPHRASE": folder.passphrase(),
        "PULUMI_HOME": str(folder.pulumi_home),
        **({"TENANCY_PAGE": record.page_url.rstrip("/")} if record.page_url else {}),
    }


def _tools(record: InstanceRecord) -> dict[str, Path]:
    return {name: Path(path) for name, path in record.tools.items()}


def connection_text(record: InstanceRecord) -> str:
    return (
        f"KUBECONFIG  {record.kubeconfig}\n"
        f"state       {record.backend_url}\n"
        f"page        {record.page_url}\n"
        'To use kubectl, pulumi and tenancy in another terminal, run there: eval "$(./dev env)"'
    )
