"""The commands of `tenancy`, and how each ends: one exit code and, where it failed, one line that says why.

Each command is a function in a module of its own, which says what it does in its help.
"""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from cli import crd, tenants
from cli.output import complain
from cli.session import Session
from stacks.errors import StackError
from tenancy.errors import TenancyError
from watcher.cluster import ClusterError

app = typer.Typer(
    name="tenancy",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, or nothing would change; 1 an error, which is told on standard error; "
    "2 changes found (preview, diff, plans impact).",
)
app.command("list")(tenants.list_tenants)
app.command("crd")(crd.print_crds)


@app.callback()
def start(
    context: typer.Context,
    kubeconfig: Annotated[
        Path | None,
        typer.Option(help="The kubeconfig to use. Default: $KUBECONFIG, ~/.kube/config, else the pod's own."),
    ] = None,
    cluster_context: Annotated[
        str | None, typer.Option("--context", help="The kubeconfig's context. Default: its current one.")
    ] = None,
) -> None:
    """Tenants on Kubernetes: see them, preview changes, look into their history, and roll back."""
    context.obj = Session(kubeconfig, cluster_context)


def main() -> None:
    # As everywhere, 2 would be for a wrong command line. Here it says that there are changes.
    usage_error: Any = typer.BadParameter.__base__
    usage_error.exit_code = 1
    try:
        app()
    except (TenancyError, StackError, ClusterError, OSError) as error:
        complain(str(error))
        sys.exit(1)


if __name__ == "__main__":
    main()
