"""`tenancy history`: prints the Pulumi updates of a tenant's stack, with causes, authors and changes."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Final

import typer
from rich.text import Text

from cli.completion import OptionalTenantName
from cli.connection import Connection, NoSuchTenant
from cli.deleted_tenants import deleted_history, read_deleted
from cli.output import Format, FormatOption, console, error_console, print_changes, print_data, print_table
from cli.selection.tenants import short_name
from cli.times import display_time
from cluster.connection.impersonation import NO_IMPERSONATION
from cluster.errors import ClusterError
from stacks.errors import StackNotFound
from stacks.history import Update
from tenancy.base.manifest import is_deleting
from tenancy.history.deleted_tenant import DeletedTenant
from tenancy.history.spec_changes import Changes, unrecorded_changes
from watcher.history_view import NO_UPDATE, UpdateView, history_view, update_view

UPDATE_COLUMNS = ("UPDATE", "WHEN", "CAUSE", "BY", "RESULT", "CHANGES")
DELETED_COLUMNS = ("NAME", "DELETED", "BY", "UPDATES", "KEPT UNTIL", "UID")
_SIGNS: Final = {"create": "+", "update": "~", "delete": "-", "release": "^"}
_GOOD_RESULTS: Final = ("succeeded", "no changes", "pending", "paused", "superseded")


def history(
    context: typer.Context,
    name: OptionalTenantName = None,
    with_changes: Annotated[
        bool, typer.Option("--diff", help="Show the changes of each update, field by field.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, help="The number of entries to show. Default: all entries.")
    ] = None,
    lists_deleted: Annotated[
        bool, typer.Option("--deleted", help="List the deleted tenants whose histories still exist.")
    ] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show a tenant's updates, newest first: time, cause, author, result and changes.

    An update is one run of `pulumi up` on the tenant's stack. The command also lists changes to the spec that
    caused no update, for example because the spec was rejected. These changes have no number. The column BY
    shows the user who wrote the spec. If the user is unknown, the column shows the field manager. The column
    CHANGES shows how many objects were created (`+`), updated (`~`), deleted (`-`) and released (`^`). A
    released object is a namespace that stays in the cluster, but no longer belongs to the tenant. JSON and
    YAML also contain the spec of each update. To restore an earlier spec, run `tenancy rollback`.

    The watcher keeps the history of a deleted tenant for 30 days. If no tenant has the name NAME, the command
    shows the history of the deleted tenant with this name.
    """
    connection: Connection = context.obj
    name = short_name(name or "")
    if lists_deleted:
        _print_deleted(connection, name, output)
        return
    if not name:
        raise typer.BadParameter("name a tenant, or pass --deleted", param_hint="NAME")
    shown = _entries(connection, name)[:limit]
    if output is not Format.TABLE:
        print_data([entry.model_dump(by_alias=True, mode="json") for entry in shown], output)
    elif not shown:
        console.print(f"{name} has no updates yet.")
    elif with_changes:
        _print_each(shown)
    else:
        print_table(UPDATE_COLUMNS, map(update_cells, shown))


def _entries(connection: Connection, name: str) -> list[UpdateView]:
    """The history of the live tenant with this name.

    If no live tenant has this name, the result is the history of the deleted tenant with this name. Raises
    NoSuchTenant if there is no deleted tenant either.
    """
    entries: list[UpdateView] = []
    try:
        if connection.impersonation != NO_IMPERSONATION:
            # The state backend does not check the rights of the impersonated user. So check that the user can
            # read the Tenant.
            connection.tenant(name)
        entries = read_history(connection, name)
        if entries or not is_deleting(connection.tenant(name)):
            return entries
    except NoSuchTenant:
        if not (deleted := read_deleted(connection, name)):
            raise
    else:
        deleted = read_deleted(connection, name)
    if not deleted:
        return entries
    by = f" by {deleted[0].deleted_by}" if deleted[0].deleted_by else ""
    expires = deleted[0].expires.isoformat(timespec="seconds")
    text = f"{name} was deleted{by}, {display_time(deleted[0].deleted_at.isoformat())}"
    error_console.print(Text(f"{text}; its history is kept until {expires}"))
    return deleted_history(deleted[0])


def _print_deleted(connection: Connection, name: str, output: Format) -> None:
    """Print the deleted tenants with this name. If `name` is empty, print all deleted tenants."""
    if connection.impersonation != NO_IMPERSONATION:
        connection.tenant_names()  # Raises ClusterError if the impersonated user cannot list Tenants.
    deleted = read_deleted(connection, name)
    if output is not Format.TABLE:
        print_data([_deleted_data(tenant) for tenant in deleted], output)
    elif not deleted:
        console.print("No histories of deleted tenants are kept.")
    else:
        print_table(DELETED_COLUMNS, map(_deleted_cells, deleted))


def _deleted_data(tenant: DeletedTenant) -> dict[str, Any]:
    history = [entry.model_dump(by_alias=True, mode="json") for entry in deleted_history(tenant)]
    return {
        "name": tenant.name,
        "uid": tenant.uid,
        "deletedAt": tenant.deleted_at.isoformat(),
        "deletedBy": tenant.deleted_by,
        "expires": tenant.expires.isoformat(),
        "spec": tenant.manifest["spec"],
        "history": history,
    }


def _deleted_cells(tenant: DeletedTenant) -> tuple[str, ...]:
    return (
        tenant.name,
        display_time(tenant.deleted_at.isoformat()),
        tenant.deleted_by or "unknown",
        str(len(tenant.updates)),
        tenant.expires.isoformat(timespec="seconds"),
        tenant.uid,
    )


def read_history(connection: Connection, tenant: str) -> list[UpdateView]:
    """Read the updates of a tenant's stack, and changes to its spec that led to no update. Newest first."""
    return history_view(_stack_updates(connection, tenant), _unrecorded(connection, tenant))


def read_updates(connection: Connection, tenant: str) -> list[UpdateView]:
    """Read all updates of a tenant's stack, newest first. Empty if the tenant has no stack yet."""
    return [update_view(update) for update in _stack_updates(connection, tenant)]


def _stack_updates(connection: Connection, tenant: str) -> list[Update]:
    with connection.stacks() as stacks, error_console.status("reading the history"):
        try:
            return stacks.history(tenant)
        except StackNotFound:
            return []


def _unrecorded(connection: Connection, tenant: str) -> Changes:
    """The changes to the spec that are not in the history of the stack. The Tenant's status contains them.

    If the Tenant cannot be read, the function prints a note, and the result is empty.
    """
    try:
        return unrecorded_changes(connection.tenant(tenant).get("status"))
    except NoSuchTenant:
        return ()
    except ClusterError as error:
        error_console.print(Text(f"changes to the spec that led to no update are not shown: {error}"))
        return ()


def update_cells(update: UpdateView) -> tuple[str | Text, ...]:
    """The cells of an update's table row, in the order of UPDATE_COLUMNS."""
    first_line = update.message.partition("\n")[0]
    return (
        "-" if update.version is None else str(update.version),
        display_time(update.started),
        f"{_cause(update)}: {first_line}" if first_line else _cause(update),
        _author(update),
        _result(update),
        change_counts(update),
    )


def is_by_hand(update: UpdateView) -> bool:
    """Whether a user, and not the watcher, ran this update with `pulumi up`.

    The watcher records the spec in each of its updates. An update by hand contains no spec.
    """
    return update.operation == "update" and update.spec is None


def change_counts(update: UpdateView) -> str:
    """The numbers of objects that the update created, updated, deleted and released, such as `+1 ~2`."""
    counts = [f"{sign}{update.counts[name]}" for name, sign in _SIGNS.items() if update.counts.get(name)]
    return " ".join(counts) or ("-" if update.operation == NO_UPDATE else "none")


def _cause(update: UpdateView) -> str:
    is_usual = update.operation in ("update", NO_UPDATE)
    return update.cause if is_usual else f"{update.operation}: {update.cause}"


def _author(update: UpdateView) -> str:
    return update.by or ("by hand" if is_by_hand(update) else "-")


def _result(update: UpdateView) -> Text:
    is_good = update.result in _GOOD_RESULTS or update.result.startswith("in update ")
    reason = f": {update.reason}" if update.reason else ""
    return Text(f"{update.result}{reason}", style="" if is_good else "bold red")


def _print_each(updates: Iterable[UpdateView]) -> None:
    for update in updates:
        title = "no update" if update.version is None else f"update {update.version}"
        console.print(Text(f"{title}  ", style="bold").append_text(_result(update)))
        for label, value in _details(update):
            console.print(Text(f"  {label:<8} {value}"))
        if update.version is not None and update.spec is None:
            console.print("  the changes of this update were not recorded")
        print_changes(update.changes)
        console.print()


def _details(update: UpdateView) -> Iterator[tuple[str, str]]:
    """The labels and values that `tenancy history --diff` prints above the changes of an update."""
    took = "" if update.duration_s is None else f", {update.duration_s:.0f} s"
    yield "when", f"{display_time(update.started)}{took}"
    yield "cause", _cause(update)
    yield "by", _author(update)
    # A message can have several lines. Only the first line gets the label.
    for index, line in enumerate(update.message.splitlines()):
        yield "" if index else "message", line
    if update.commit:
        yield "commit", update.commit
    if update.detail:
        yield "reason", update.detail
    if update.version is not None:
        yield "changes", change_counts(update)
