"""The environment variables for kubectl, pulumi, tenancy and the watcher.

They select the cluster, the Pulumi backend and the tools of a running `./dev run`.
"""

import os
import shlex
from pathlib import Path

from embedded.environment import FOLDER_VARIABLE, ROOT
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
        f"To use kubectl, pulumi and tenancy in another terminal, run there: {set_environment_command()}"
    )


def set_environment_command() -> str:
    return f'eval "$({dev_command("env")})"'


def dev_command(name: str) -> str:
    """The text of a shell command that runs `./dev NAME`, such as `./dev stop`, in any terminal.

    The command uses the state folder of this process.
    """
    folder = os.environ.get(FOLDER_VARIABLE)
    prefix = f"{FOLDER_VARIABLE}={shlex.quote(str(Path(folder).resolve()))} " if folder else ""
    return f"{prefix}{path_for_shell('dev')} {name}"


def path_for_shell(name: str) -> str:
    """The path of a file in the checkout, quoted for a shell command that users can copy."""
    return f"./{name}" if Path.cwd() == ROOT else shlex.quote(str(ROOT / name))
