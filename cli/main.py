"""The commands of `tenancy`, and how each ends: one exit code and, where it failed, one line that says why.

Each command is a function in a module of its own, which says what it does in its help.
"""

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.commands import (
    apply,
    crd,
    diff,
    history,
    import_namespaces,
    list_tenants,
    pause_resume,
    plans,
    rollback,
    show,
    usage,
)
from cli.commands.doctor import doctor
from cli.commands.preview import preview
from cli.connection import Connection
from cli.output import console, print_error
from cli.version import VERSION
from cluster.client import ClusterError
from stacks.errors import StackError
from tenancy.base.errors import TenancyError
from watcher.log import configure_log
from watcher.usage.database import UsageUnavailable

app = typer.Typer(
    name="tenancy",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, or nothing would change; 1 an error, which is told on standard error; "
    "2 changes found (preview, diff, plans impact, rollback --dry-run).",
)
# In the order in which they are needed; `--help` shows them so.
app.command("list")(list_tenants.list_tenants)
app.command("show")(show.show)
app.command("usage")(usage.usage)
app.command("preview")(preview)
app.command("apply")(apply.apply_tenants)
app.command("diff")(diff.diff)
app.command("history")(history.history)
app.command("rollback")(rollback.rollback)
app.command("pause")(pause_resume.pause)
app.command("resume")(pause_resume.resume)
app.add_typer(plans.app, name="plans")
app.command("import")(import_namespaces.import_namespaces)
app.command("doctor")(doctor)
app.command("crd")(crd.print_crds)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        console.print(VERSION)
        raise typer.Exit


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
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Tenants on Kubernetes: see them, preview changes, look into their history, and roll back."""
    context.obj = Connection(kubeconfig, cluster_context)


def main() -> None:
    # As everywhere, 2 would be for a wrong command line. Here it says that there are changes.
    usage_error: Any = typer.BadParameter.__base__
    usage_error.exit_code = 1
    # Commands say themselves what matters; the layers below keep their notes to themselves.
    configure_log("critical")
    # --show-completion takes the shell by its name: it can't be told by the process that asks.
    os.environ.setdefault("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "true")
    try:
        app(prog_name="tenancy")
    except OSError as error:
        # Without the number that str() begins with: what went wrong, and where.
        print_error(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        sys.exit(1)
    except (TenancyError, StackError, ClusterError, UsageUnavailable) as error:
        print_error(str(error))
        sys.exit(1)


if __name__ == "__main__":
    main()
