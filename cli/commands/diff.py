"""`tenancy diff`: prints the differences between the live objects and the desired state of a tenant."""

from pathlib import Path
from typing import Annotated

import typer

from cli.completion import TenantName
from cli.connection import Connection
from cli.output import Format, FormatOption, console, print_changes, print_data
from tenancy.base.manifest import Manifest, Objects, is_deleting
from tenancy.changes import ObjectChange, object_changes
from tenancy.decision import Facts, decide
from tenancy.plans import Plans

PlansOption = Annotated[
    Path | None,
    typer.Option(
        "--plans",
        exists=True,
        dir_okay=False,
        help="The plans file, if the watcher reads its plans from a file. Default: the plans in the "
        "ConfigMap tenancy-system/tenancy-plans. If there is no such ConfigMap: the shipped plans.",
    ),
]


def diff(
    context: typer.Context,
    name: TenantName,
    plans: PlansOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show how a tenant's live objects differ from the desired state, field by field.

    The command computes the desired state from the spec and the plan. It also works for paused and failed
    tenants. The exit code is 2 if there are differences.
    """
    connection: Connection = context.obj
    tenant = connection.tenant(name)
    changes: tuple[ObjectChange, ...] = ()
    if not is_deleting(tenant):
        changes = current_drift(connection, tenant, connection.live_objects(name), connection.plans(plans))
    if output is not Format.TABLE:
        print_data([change.model_dump(by_alias=True, mode="json") for change in changes], output)
    elif is_deleting(tenant):
        console.print(f"{name} is being deleted. The watcher no longer repairs its drift.")
    elif not changes:
        console.print(f"{name} matches the desired state.")
    else:
        print_changes(changes)
    raise typer.Exit(2 if changes else 0)


def current_drift(
    connection: Connection, tenant: Manifest, live: Objects, plans: Plans
) -> tuple[ObjectChange, ...]:
    """The changes that turn the live objects into the desired objects.

    Raises InvalidSpec if the spec is invalid.
    """
    return object_changes(decide(tenant, Facts(plans, connection.served)).desired, live)
