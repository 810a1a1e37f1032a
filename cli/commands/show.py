"""`tenancy show`: prints the status, quotas, access, sessions, updates, events and drift of one tenant."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import typer
from rich.text import Text

from cli.commands.diff import PlansOption
from cli.commands.history import UPDATE_COLUMNS, read_history, update_cells
from cli.completion import TenantName
from cli.differences import (
    CurrentDifferences,
    print_differences,
    print_problems,
    read_differences,
    unknown_differences,
)
from cli.output import Format, FormatOption, console, error_console, print_data
from cli.rights.other_access import OtherBinding, TokenSecret, read_other_bindings, read_token_secrets
from cli.rights.permissions import MissingRight, Right
from cli.rights.reader import Reader
from cli.sessions.read import read_events, read_sessions
from cli.sessions.text import EVENT_COLUMNS, SESSION_COLUMNS, event_cells, session_cells
from cli.tenant_text import print_section, print_tenant
from cli.times import display_time
from stacks.errors import StackError
from tenancy.base.errors import TenancyError
from tenancy.base.kinds import AISESSION, EVENT
from tenancy.base.manifest import Manifest, Objects, is_deleting
from tenancy.base.model import Model
from tenancy.base.platform_names import EVENT_NAMESPACE
from tenancy.same_name_in_both_groups import is_duplicate
from tenancy.sessions.row import SessionRow, session_row, sorted_rows
from watcher.history_view import UpdateView
from watcher.view import TenantRow, TenantView, tenant_view

_SHOWN_UPDATES: Final = 5
_SHOWN_EVENTS: Final = 10


def show(
    context: typer.Context,
    name: TenantName,
    plans: PlansOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show one tenant: phase, quotas, namespaces, conditions, access, last updates, events and current drift.

    The section "Other RoleBindings" lists the RoleBindings that users have created. The section "Token
    Secrets" lists Secrets with tokens of service accounts. The section contains `unknown` if you lack the
    right to list Secrets.

    The command also shows the waiting and running AI sessions of the tenant. `tenancy describe` is the same
    command. If both API groups (platform.ai and kleff.kleff.io) have a Tenant with this name, the command
    shows the older Tenant. To select a group, use the full name, such as tenants.platform.ai/NAME.

    If you lack rights, the command shows only the values that you can read. It prints `unknown` instead of
    the other values, and a note lists the missing rights. In JSON and YAML, the field `missing` contains the
    missing rights.
    """
    reader = Reader(context.obj)
    tenant = reader.tenant(name)
    live = reader.objects(tenant)
    differences = _differences(reader, tenant, live, plans)
    updates, updates_problem = _last_updates(reader, tenant)
    view = tenant_view(tenant, live, differences.parts, reader.unreadable)
    names, cluster = [namespace.name for namespace in view.namespaces], reader.connection.cluster
    bindings, missing_bindings = read_other_bindings(cluster, names)
    secrets, missing_secrets = read_token_secrets(cluster, names)
    sessions, sessions_problem = _active_sessions(reader, view)
    events, events_problem = _last_events(reader, tenant)
    if output is Format.TABLE:
        print_tenant(view, reader.missing)
        _print_other_access(bindings, missing_bindings, secrets, missing_secrets)
        _print_sessions(sessions, sessions_problem)
        _print_updates(view.row, updates, updates_problem)
        print_section("Events", EVENT_COLUMNS, [event_cells(event) for event in events], events_problem)
        console.print()
        print_differences(differences)
    else:
        data = view.model_dump(by_alias=True, mode="json")
        data["otherBindings"] = None if missing_bindings else [_data(binding) for binding in bindings]
        data["tokenSecrets"] = None if missing_secrets else [_data(secret) for secret in secrets]
        data["sessions"] = [_data(session) for session in sessions]
        data["updates"] = [_data(update) for update in updates]
        data["events"] = events
        print_data({**data, "missing": [str(right) for right in reader.missing]}, output)
        print_problems(differences)
        problems = (("sessions", sessions_problem), ("updates", updates_problem), ("events", events_problem))
        for field, problem in problems:
            if problem:
                error_console.print(Text(f"{field} unknown: {problem}"))
    reader.print_missing()


def _differences(reader: Reader, tenant: Manifest, live: Objects, plans: Path | None) -> CurrentDifferences:
    """The drift and the pending changes of a tenant. After an error, they are unknown."""
    if is_deleting(tenant):
        return unknown_differences(tenant, "the tenant is being deleted")
    if is_duplicate(tenant, {}):
        return unknown_differences(
            tenant, "the Tenant has no objects, because an older Tenant has the same name"
        )
    try:
        return read_differences(reader, tenant, live, plans)
    except TenancyError as error:
        return unknown_differences(tenant, str(error))


def _last_updates(reader: Reader, tenant: Manifest) -> tuple[list[UpdateView], str]:
    """The newest updates of the tenant's stack, and an error message if the history cannot be read.

    An error does not stop the command, because the rest of the output does not need the updates. If an older
    Tenant has the same name, the stack belongs to the older Tenant. The newer Tenant then has no updates.
    """
    if is_duplicate(tenant, {}):
        return [], ""
    try:
        return read_history(reader.connection, tenant["metadata"]["name"])[:_SHOWN_UPDATES], ""
    except StackError as error:
        return [], str(error)


def _active_sessions(reader: Reader, view: TenantView) -> tuple[list[SessionRow], str]:
    """The waiting and running AISessions of the tenant, and an error message.

    If the user cannot list the AISessions in a namespace of the tenant, the message says so. Otherwise, it is
    empty.
    """
    rows: list[SessionRow] = []
    problem = ""
    for namespace in view.namespaces:
        try:
            rows += map(session_row, read_sessions(reader.connection.cluster, namespace.name))
        except MissingRight as error:
            reader.missing.append(Right("list", AISESSION, namespace.name))
            problem = str(error)
    return sorted_rows([row for row in rows if row.is_active and row.tenant == view.row.name]), problem


def _last_events(reader: Reader, tenant: Manifest) -> tuple[list[dict[str, str]], str]:
    """The newest Events about the Tenant, and an error message if the user cannot list Events."""
    try:
        return read_events(reader.connection.cluster, tenant)[-_SHOWN_EVENTS:], ""
    except MissingRight as error:
        reader.missing.append(Right("list", EVENT, EVENT_NAMESPACE))
        return [], str(error)


def _problem(missing: Right | None) -> str:
    return f"you cannot {missing}" if missing else ""


def _data(model: Model) -> dict[str, object]:
    return model.model_dump(by_alias=True, mode="json")


def _print_other_access(
    bindings: Sequence[OtherBinding],
    missing_bindings: Right | None,
    secrets: Sequence[TokenSecret],
    missing_secrets: Right | None,
) -> None:
    print_section(
        "Other RoleBindings",
        ("NAMESPACE", "NAME", "ROLE", "SUBJECTS"),
        [(each.namespace, each.name, each.role, ", ".join(each.subjects)) for each in bindings],
        _problem(missing_bindings),
    )
    print_section(
        "Token Secrets",
        ("NAMESPACE", "NAME", "SERVICE ACCOUNT"),
        [(each.namespace, each.name, each.service_account) for each in secrets],
        _problem(missing_secrets),
    )


def _print_sessions(rows: Sequence[SessionRow], problem: str) -> None:
    print_section("Sessions", SESSION_COLUMNS, [session_cells(row) for row in rows], problem)


def _print_updates(row: TenantRow, updates: Sequence[UpdateView], problem: str) -> None:
    if not problem:
        print_section("Last updates", UPDATE_COLUMNS, [update_cells(update) for update in updates])
        return
    # The history cannot be read, and the status of the Tenant contains only the last update.
    last = row.last_update or {}
    cells = (
        str(last.get("version", "-")),
        display_time(last["time"]) if "time" in last else "-",
        last.get("message", ""),
        last.get("result", ""),
    )
    print_section("Last update", ("UPDATE", "WHEN", "CAUSE", "RESULT"), [cells] if last else [])
    console.print(Text(f"Earlier updates cannot be read: {problem}", style="yellow"))
