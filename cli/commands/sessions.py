"""`tenancy sessions`: lists, shows and cancels AISessions, and prints their logs."""

from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.text import Text
from typer.core import TyperGroup

from cli.completion import tenant_names
from cli.connection import Connection
from cli.output import (
    Format,
    FormatOption,
    GrowingTable,
    confirm,
    console,
    error_console,
    print_data,
    print_table,
)
from cli.rights.permissions import MissingRight
from cli.sessions.log import read_log, write_log
from cli.sessions.read import SESSIONS, needs_right, read_events, read_session, read_sessions
from cli.sessions.text import (
    EVENT_COLUMNS,
    SESSION_COLUMNS,
    WIDE_SESSION_COLUMNS,
    detail_lines,
    event_cells,
    session_age,
    session_cells,
    wide_session_cells,
)
from tenancy.base.errors import TenancyError
from tenancy.base.kinds import AISESSION
from tenancy.base.manifest import Manifest
from tenancy.sessions.row import session_row, sorted_rows
from tenancy.spec.aisession import SessionPhase


class NotCanceled(TenancyError):
    reason = "NotCanceled"


class SessionFormat(StrEnum):
    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"


class _ListByDefault(TyperGroup):
    """A group of commands that runs `list` if the arguments contain no command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        is_option = bool(args) and args[0].startswith("-") and args[0] not in ctx.help_option_names
        # During shell completion, the arguments are incomplete.
        if not ctx.resilient_parsing and (not args or is_option):
            args = ["list", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(add_completion=False, rich_markup_mode="markdown", cls=_ListByDefault)
SessionName = Annotated[str, typer.Argument(metavar="NAME", help="The name of the AISession.")]
NamespaceOption = Annotated[str, typer.Option("--namespace", "-n", help="The namespace of the AISession.")]


@app.callback()
def sessions() -> None:
    """List, show and cancel AI sessions, and print their logs. The default command is `list`."""


@app.command("list")
def list_sessions(
    context: typer.Context,
    tenant: Annotated[
        str | None, typer.Option(help="List only sessions of this tenant.", autocompletion=tenant_names)
    ] = None,
    namespace: Annotated[
        str,
        typer.Option(
            "--namespace", "-n", help="List only sessions in this namespace. Default: all namespaces."
        ),
    ] = "",
    phase: Annotated[
        SessionPhase | None, typer.Option(case_sensitive=False, help="List only sessions in this phase.")
    ] = None,
    output: Annotated[
        SessionFormat,
        typer.Option(
            "--output",
            "-o",
            help="The output format. `wide` adds the tenant, the type and the message. Only JSON and YAML "
            "contain all fields.",
        ),
    ] = SessionFormat.TABLE,
) -> None:
    """List AI sessions with model, phase, reason and age.

    The list begins with the waiting sessions, followed by the running sessions. To see the message of a
    session and what to do next, run `tenancy sessions show NAME -n NAMESPACE`.
    """
    connection: Connection = context.obj
    all_rows = [session_row(session) for session in read_sessions(connection.cluster, namespace)]
    rows = sorted_rows(
        [row for row in all_rows if tenant in (None, row.tenant) and phase in (None, row.phase)]
    )
    if output in (SessionFormat.JSON, SessionFormat.YAML):
        print_data([row.model_dump(by_alias=True, mode="json") for row in rows], Format(output))
    elif not rows:
        console.print("No sessions match." if all_rows else "There are no sessions.")
    elif output is SessionFormat.WIDE:
        GrowingTable(WIDE_SESSION_COLUMNS).print(map(wide_session_cells, rows))
    else:
        print_table(SESSION_COLUMNS, map(session_cells, rows))


@app.command("show")
def show_session(
    context: typer.Context, name: SessionName, namespace: NamespaceOption, output: FormatOption = Format.TABLE
) -> None:
    """Show one AI session: phase, reason, what to do, model, resources, times, result and events."""
    connection: Connection = context.obj
    session = read_session(connection.cluster, name, namespace)
    events: list[dict[str, str]] = []
    problem = ""
    try:
        events = read_events(connection.cluster, session)
    except MissingRight as error:
        problem = str(error)
    if output is Format.TABLE:
        _print(session)
        _print_events(events, problem)
        return
    row = session_row(session).model_dump(by_alias=True, mode="json")
    status = session.get("status") or {}
    print_data({**row, "spec": session["spec"], "status": status, "events": events}, output)
    if problem:
        error_console.print(Text(f"events unknown: {problem}"))


@app.command("logs")
def print_logs(
    context: typer.Context,
    name: SessionName,
    namespace: NamespaceOption,
    is_followed: Annotated[
        bool, typer.Option("--follow", "-f", help="Print new lines until the session ends.")
    ] = False,
) -> None:
    """Print the log of an AI session. Kubernetes deletes the log one hour after the session has ended."""
    connection: Connection = context.obj
    row = session_row(read_session(connection.cluster, name, namespace))
    write_log(read_log(connection.cluster, row, is_followed=is_followed))


@app.command("cancel")
def cancel_session(
    context: typer.Context,
    name: SessionName,
    namespace: NamespaceOption,
    is_agreed: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Cancel a waiting or running AI session. The command deletes the AISession with its Job and its log.

    The command asks for confirmation. If you run the command without a terminal, pass `--yes`.
    """
    connection: Connection = context.obj
    session = read_session(connection.cluster, name, namespace)
    row = session_row(session)
    if not row.is_active:
        raise NotCanceled(
            f"session {name} has ended already ({row.phase.value}); to delete it with its result, run "
            f"`kubectl delete {SESSIONS} {name} -n {namespace}`"
        )
    if not is_agreed:
        state = f"tenant {row.tenant}, {row.phase.value}, age {session_age(row)}"
        refusal = NotCanceled("nothing was changed: without a terminal, the command needs --yes")
        confirm(f"Cancel session {namespace}/{name} ({state})?", refusal)
    with needs_right("delete", SESSIONS, namespace):
        connection.cluster.delete(AISESSION, name, namespace, session["metadata"]["uid"])
    console.print(f"{namespace}/{name} is canceled.")


def _print(session: Manifest) -> None:
    console.print(Text(session["metadata"]["name"], style="bold"))
    for field, value in detail_lines(session):
        console.print(Text(f"{field:<11}{value}"))
    results = (session.get("status") or {}).get("results") or {}
    if output_data := results.get("outputData"):
        console.print(Text("\nResult", style="bold"))
        console.print(Text(output_data))


def _print_events(events: list[dict[str, str]], problem: str) -> None:
    console.print(Text("\nEvents", style="bold"))
    if problem or not events:
        console.print(f"unknown: {problem}" if problem else "none")
        return
    print_table(EVENT_COLUMNS, map(event_cells, events))
