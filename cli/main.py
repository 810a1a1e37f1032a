"""The entry point of `tenancy`. Defines the global options, and converts errors to messages and exit codes.

Modules that import large libraries are imported only when a command needs them. So `tenancy --help` and the
shell completion are fast.
"""

import os
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from cli.command_loader import GLOBAL_OPTIONS, CommandGroup
from cli.connection import Connection
from cli.version import VERSION
from cluster.errors import ClusterError
from stacks.errors import StackError
from tenancy.base.errors import TenancyError
from watcher.usage.database import UsageUnavailable

app = typer.Typer(
    name="tenancy",
    cls=CommandGroup,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="If something does not work, run `tenancy doctor`. The exit code is 0 after a success, and 1 "
    "after an error. `preview`, `diff`, `plans impact` and `rollback --dry-run` exit with 2 if there are "
    "changes. `apply` and `diff` exit with 3 if the newest spec is stored, but not applied.",
)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(VERSION)
        raise typer.Exit


def _not_empty(text: str) -> str:
    """Return the value of an option. Raises BadParameter if the value is empty.

    In `tenancy --as "$NAME"`, the value is empty if NAME is not set. The command would then run without
    impersonation.
    """
    if not text:
        raise typer.BadParameter("must not be empty")
    return text


@app.callback()
def start(
    context: typer.Context,
    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=GLOBAL_OPTIONS,
            help="The kubeconfig file. Default: $KUBECONFIG, ~/.kube/config, or the pod's service account.",
        ),
    ] = None,
    cluster_context: Annotated[
        str | None,
        typer.Option(
            "--context",
            rich_help_panel=GLOBAL_OPTIONS,
            help="The kubeconfig context. Default: the current context.",
        ),
    ] = None,
    as_user: Annotated[
        str | None,
        typer.Option(
            "--as",
            rich_help_panel=GLOBAL_OPTIONS,
            metavar="USER",
            parser=_not_empty,
            help="The user to impersonate. Default: the field `as` of the kubeconfig's user.",
        ),
    ] = None,
    as_groups: Annotated[
        list[str] | None,
        typer.Option(
            "--as-group",
            rich_help_panel=GLOBAL_OPTIONS,
            metavar="GROUP",
            parser=_not_empty,
            help="A group to impersonate, together with a user. Repeat the option for several groups.",
        ),
    ] = None,
    as_uid: Annotated[
        str | None,
        typer.Option(
            "--as-uid",
            rich_help_panel=GLOBAL_OPTIONS,
            metavar="UID",
            parser=_not_empty,
            help="The UID to impersonate, together with a user.",
        ),
    ] = None,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Manage tenants on Kubernetes. Inspect them, preview and apply changes, show history, and roll back."""
    from watcher.log import configure_log

    # Log lines of the called modules would mix with the output of the commands.
    configure_log("critical")
    context.obj = Connection.from_options(kubeconfig, cluster_context, as_user, as_groups, as_uid)


def main(program: str = "tenancy") -> None:
    """Run the command in `sys.argv`. `program` is the name of the program in help texts."""
    # click exits with 2 if the command line is invalid. In this CLI, 2 means that there are changes.
    usage_error: Any = typer.BadParameter.__base__
    usage_error.exit_code = 1
    # Typer would detect the shell from the parent process, which may be another program. Without this
    # detection, the user gives the name of the shell to the completion options.
    os.environ.setdefault("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "true")
    try:
        app(prog_name=program)
    except OSError as error:
        # str(error) starts with the errno, which does not help users.
        _exit(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except (TenancyError, StackError, ClusterError, UsageUnavailable) as error:
        _exit(str(error))


def _exit(problem: str) -> NoReturn:
    from cli.output import print_error

    print_error(problem)
    sys.exit(1)


if __name__ == "__main__":
    main()
