"""The entry point of `tenancy`. Registers the commands, and converts errors to messages and exit codes.

The docstring of a command's function is its help text.
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
    sessions,
    show,
    usage,
)
from cli.commands.doctor import doctor
from cli.commands.preview import preview
from cli.connection import Connection
from cli.output import console, print_error
from cli.version import VERSION
from cluster.errors import ClusterError
from stacks.errors import StackError
from tenancy.base.errors import TenancyError
from watcher.log import configure_log
from watcher.usage.database import UsageUnavailable

app = typer.Typer(
    name="tenancy",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="If something does not work, run `tenancy doctor`. The exit code is 0 after a success, and 1 "
    "after an error. `preview`, `diff`, `plans impact` and `rollback --dry-run` exit with 2 if there are "
    "changes.",
)
# `--help` lists the commands in this order.
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
app.add_typer(sessions.app, name="sessions")
app.add_typer(plans.app, name="plans")
app.command("import")(import_namespaces.import_namespaces)
app.command("doctor")(doctor)
app.command("crd")(crd.print_crds)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        console.print(VERSION)
        raise typer.Exit


@app.callback()
def start(
    context: typer.Context,
    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            help="The kubeconfig file. Default: $KUBECONFIG, ~/.kube/config, or the pod's service account."
        ),
    ] = None,
    cluster_context: Annotated[
        str | None, typer.Option("--context", help="The kubeconfig context. Default: the current context.")
    ] = None,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Manage tenants on Kubernetes. Inspect them, preview and apply changes, show history, and roll back."""
    context.obj = Connection(kubeconfig, cluster_context)


def main() -> None:
    # click exits with 2 if the command line is invalid. In this CLI, 2 means that there are changes.
    usage_error: Any = typer.BadParameter.__base__
    usage_error.exit_code = 1
    # Log lines of the called modules would mix with the output of the commands.
    configure_log("critical")
    # Typer would detect the shell from the parent process, which may be another program. Without this
    # detection, the user gives the name of the shell to the completion options.
    os.environ.setdefault("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "true")
    try:
        app(prog_name="tenancy")
    except OSError as error:
        # str(error) starts with the errno, which does not help users.
        print_error(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        sys.exit(1)
    except (TenancyError, StackError, ClusterError, UsageUnavailable) as error:
        print_error(str(error))
        sys.exit(1)


if __name__ == "__main__":
    main()
