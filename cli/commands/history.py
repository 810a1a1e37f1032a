"""`tenancy history`: prints the updates of a tenant's stack, with their causes, authors and changes."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated

import typer
from rich.text import Text

from cli.completion import TenantName
from cli.connection import Connection
from cli.output import Format, FormatOption, console, error_console, print_changes, print_data, print_table
from cli.times import display_time
from cluster.impersonation import NO_IMPERSONATION
from stacks.errors import StackNotFound
from watcher.view import UpdateView, update_view

UPDATE_COLUMNS = ("UPDATE", "WHEN", "OPERATION", "CAUSE", "BY", "RESULT", "CHANGES", "DURATION")


def history(
    context: typer.Context,
    name: TenantName,
    with_changes: Annotated[
        bool, typer.Option("--diff", help="Show the changes of each update, field by field.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, help="The number of updates to show. Default: all updates.")
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show a tenant's updates, newest first: time, cause, author, result and changes.

    An update is one run of `pulumi up` on the tenant's stack. The column BY shows the field manager that
    wrote the spec. The column CHANGES shows how many objects were created (`+`), updated (`~`) and deleted
    (`-`). JSON and YAML also contain the spec of each update. To restore an earlier spec, run
    `tenancy rollback`.
    """
    connection: Connection = context.obj
    if connection.impersonation != NO_IMPERSONATION:
        # The state backend does not know the impersonated user. The user must be able to read the Tenant.
        connection.tenant(name)
    updates = read_updates(connection, name)
    if not updates:
        # Raises NoSuchTenant if the tenant does not exist.
        connection.tenant(name)
    shown = updates[:limit]
    if output is not Format.TABLE:
        print_data([update.model_dump(by_alias=True, mode="json") for update in shown], output)
    elif not shown:
        console.print(f"{name} has no updates yet.")
    elif with_changes:
        _print_each(shown)
    else:
        print_table(UPDATE_COLUMNS, map(update_cells, shown))


def read_updates(connection: Connection, tenant: str) -> list[UpdateView]:
    """Read all updates of a tenant, newest first. Empty if the tenant has no stack yet."""
    with connection.stacks() as stacks, error_console.status("reading the history"):
        try:
            return [update_view(update) for update in stacks.history(tenant)]
        except StackNotFound:
            return []


def update_cells(update: UpdateView) -> tuple[str | Text, ...]:
    """The cells of an update's table row, in the order of UPDATE_COLUMNS."""
    result = Text(update.result, style="" if update.result == "succeeded" else "bold red")
    took = "-" if update.duration_s is None else f"{update.duration_s:.0f} s"
    return (
        str(update.version),
        display_time(update.started),
        "up" if update.operation == "update" else update.operation,
        update.cause,
        update.by or ("by hand" if is_by_hand(update) else "-"),
        result,
        _change_counts(update),
        took,
    )


def is_by_hand(update: UpdateView) -> bool:
    """Whether a user ran `pulumi up` by hand.

    The watcher records the spec in each of its updates. An update by hand contains no spec.
    """
    return update.operation == "update" and update.spec is None


def _change_counts(update: UpdateView) -> str:
    """The numbers of objects that Pulumi created, updated and deleted, such as `+1 ~2`.

    The watcher can repair objects before it runs Pulumi. If Pulumi then changes nothing, the result shows the
    numbers of repaired objects.
    """
    recorded = Counter(change.operation.value for change in update.changes)
    return _tally(update.counts) or _tally(recorded) or "none"


def _tally(counts: Mapping[str, int]) -> str:
    signs = {"+": ("create",), "~": ("update", "replace"), "-": ("delete",)}
    sums = {sign: sum(counts.get(name, 0) for name in names) for sign, names in signs.items()}
    return " ".join(f"{sign}{count}" for sign, count in sums.items() if count)


def _print_each(updates: Iterable[UpdateView]) -> None:
    for update in updates:
        number, *rest = update_cells(update)
        console.print(Text(f"update {number}  ", style="bold") + Text("  ").join(map(_as_text, rest)))
        if update.spec is None:
            console.print("  the changes of this update were not recorded")
        print_changes(update.changes)
        console.print()


def _as_text(cell: str | Text) -> Text:
    return cell if isinstance(cell, Text) else Text(cell)
