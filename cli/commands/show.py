"""`tenancy show`: prints the status, quotas, access, sessions, updates and drift of one tenant."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

import typer
from rich.text import Text

from cli.commands.diff import PlansOption, current_drift
from cli.commands.history import UPDATE_COLUMNS, read_history, update_cells
from cli.completion import TenantName
from cli.connection import Connection
from cli.output import (
    PHASE_STYLES,
    Format,
    FormatOption,
    console,
    error_console,
    print_changes,
    print_data,
    print_table,
)
from cli.sessions.read import MissingRight, read_sessions
from cli.sessions.text import SESSION_COLUMNS, session_cells
from cli.times import age, display_time
from stacks.errors import StackError
from tenancy.base.errors import TenancyError
from tenancy.base.manifest import is_deleting
from tenancy.base.model import Model
from tenancy.base.names import stack_name
from tenancy.changes import ObjectChange
from tenancy.sessions.row import SessionRow, session_row, sorted_rows
from watcher.history_view import UpdateView
from watcher.view import NamespaceView, QuotaBar, TenantRow, TenantView, tenant_view

_SHOWN_UPDATES: Final = 5
_BAR_WIDTH: Final = 20
# The colours of a quota bar. Each colour applies from this ratio of used to total quota.
_COLOURS: Final = ((0.9, "red"), (0.7, "yellow"), (0.0, "green"))


def show(
    context: typer.Context,
    name: TenantName,
    plans: PlansOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show one tenant: phase, quotas, namespaces, conditions, access, last updates and current drift.

    The command also shows the AI sessions of the tenant that wait or run.
    """
    connection: Connection = context.obj
    tenant, live = connection.tenant(name), connection.live_objects(name)
    drift: tuple[ObjectChange, ...] = ()
    drift_problem = "the tenant is being deleted" if is_deleting(tenant) else ""
    try:
        if not drift_problem:
            drift = current_drift(connection, tenant, live, connection.plans(plans))
    except TenancyError as error:
        drift_problem = str(error)
    updates, updates_problem = _last_updates(connection, name)
    view = tenant_view(tenant, live, drift)
    sessions, sessions_problem = _active_sessions(connection, view)
    if output is Format.TABLE:
        _print(view)
        _print_sessions(sessions, sessions_problem)
        _print_updates(view.row, updates, updates_problem)
        _print_drift(view, drift_problem)
        return
    data = view.model_dump(by_alias=True, mode="json")
    session_data = [_data(session) for session in sessions]
    print_data({**data, "sessions": session_data, "updates": [_data(update) for update in updates]}, output)
    problems = (("drift", drift_problem), ("sessions", sessions_problem), ("updates", updates_problem))
    for field, problem in problems:
        if problem:
            error_console.print(Text(f"{field} unknown: {problem}"))


def _last_updates(connection: Connection, name: str) -> tuple[list[UpdateView], str]:
    """The newest updates, and an error message if the history cannot be read.

    An error does not stop the command, because the rest of the output does not need the updates.
    """
    try:
        return read_history(connection, name)[:_SHOWN_UPDATES], ""
    except StackError as error:
        return [], str(error)


def _active_sessions(connection: Connection, view: TenantView) -> tuple[list[SessionRow], str]:
    """The sessions that wait or run, and an error message if the user may not list sessions."""
    try:
        rows = [
            session_row(session)
            for namespace in view.namespaces
            for session in read_sessions(connection.cluster, namespace.name)
        ]
    except MissingRight as error:
        return [], str(error)
    return sorted_rows([row for row in rows if row.is_active and row.tenant == view.row.name]), ""


def _data(model: Model) -> dict[str, object]:
    return model.model_dump(by_alias=True, mode="json")


def _print(view: TenantView) -> None:
    row = view.row
    title = Text(row.name, style="bold")
    if row.display_name:
        title += Text(f"  {row.display_name}")
    console.print(title)
    for field, value in _header(row):
        console.print(Text(f"{field:<8}").append_text(value))
    _section("Quotas", ("RESOURCE", "USED/HARD", "", ""), [_bar(bar) for bar in row.quotas])
    _section(
        "Namespaces",
        ("NAME", "PURPOSE", "READY", "QUOTAS"),
        [_namespace(namespace) for namespace in view.namespaces],
    )
    _section(
        "Conditions",
        ("TYPE", "STATUS", "REASON", "SINCE", "MESSAGE"),
        [
            (
                condition["type"],
                condition["status"],
                condition["reason"],
                display_time(condition["lastTransitionTime"]),
                condition.get("message", ""),
            )
            for condition in view.conditions
        ],
    )
    _section(
        "Access",
        ("KIND", "NAME", "ROLE", "NAMESPACES"),
        [(access.kind, access.name, access.role, ", ".join(access.namespaces)) for access in view.access],
    )


def _header(row: TenantRow) -> Iterable[tuple[str, Text]]:
    states = [state for state, is_set in (("paused", row.is_paused), ("cordoned", row.is_cordoned)) if is_set]
    phase = Text(row.phase, style=PHASE_STYLES.get(row.phase, ""))
    yield "Phase", phase.append("".join(f", {state}" for state in states), style="yellow")
    if row.message:
        yield "Reason", Text(f"{row.reason}: {row.message}")
    yield "Plan", Text(row.plan)
    if row.in_use.cpu and row.in_use.memory:
        yield "In use", Text(f"{row.in_use.cpu} CPU, {row.in_use.memory} memory")
    yield "Age", Text(age(datetime.fromisoformat(row.created)))
    yield "Stack", Text(stack_name(row.name))


def _section(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str | Text]], problem: str = ""
) -> None:
    console.print(Text(f"\n{title}", style="bold"))
    if problem:
        console.print(Text(f"unknown: {problem}"))
    elif rows:
        print_table(columns, rows)
    else:
        console.print("none")


def _bar(bar: QuotaBar) -> tuple[str | Text, ...]:
    colour = next(colour for ratio, colour in _COLOURS if bar.ratio >= ratio)
    filled = min(_BAR_WIDTH, round(bar.ratio * _BAR_WIDTH))
    blocks = Text("█" * filled + "░" * (_BAR_WIDTH - filled), style=colour)
    return bar.resource, f"{bar.used}/{bar.hard}", blocks, f"{bar.ratio:.0%}"


def _namespace(namespace: NamespaceView) -> tuple[str | Text, ...]:
    ready = Text("yes", style="green") if namespace.is_ready else Text("no", style="bold red")
    quotas = ", ".join(f"{bar.resource} {bar.used}/{bar.hard}" for bar in namespace.quotas)
    return namespace.name, namespace.purpose or "-", ready, quotas


def _print_sessions(rows: Sequence[SessionRow], problem: str) -> None:
    _section("Sessions", SESSION_COLUMNS, [session_cells(row) for row in rows], problem)


def _print_updates(row: TenantRow, updates: Sequence[UpdateView], problem: str) -> None:
    if not problem:
        _section("Last updates", UPDATE_COLUMNS, [update_cells(update) for update in updates])
        return
    # The history cannot be read, and the status of the Tenant contains only the last update.
    last = row.last_update or {}
    cells = (
        str(last.get("version", "-")),
        display_time(last["time"]) if "time" in last else "-",
        last.get("message", ""),
        last.get("result", ""),
    )
    _section("Last update", ("UPDATE", "WHEN", "CAUSE", "RESULT"), [cells] if last else [])
    console.print(Text(f"Earlier updates cannot be read: {problem}", style="yellow"))


def _print_drift(view: TenantView, problem: str) -> None:
    console.print(Text("\nDrift", style="bold"))
    if problem:
        console.print(Text(f"unknown: {problem}"))
    elif not view.drift:
        console.print("none: all objects match the desired state")
    print_changes(view.drift)
