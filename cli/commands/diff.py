"""`tenancy diff`: prints the differences between the live objects and the desired state of a tenant."""

from pathlib import Path
from typing import Annotated, Final

import typer

from cli.completion import TenantName
from cli.connection import Connection
from cli.differences import CurrentDifferences, print_differences, print_problems, read_differences
from cli.output import Format, FormatOption, console, print_data
from tenancy.base.manifest import is_deleting
from tenancy.changes import Differences

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


# The exit codes if there are differences.
_DRIFTED: Final = 2
_NOT_APPLIED: Final = 3


class TenantDiff(Differences):
    """The output of the command as JSON or YAML."""

    name: str
    is_applied: bool
    # Why the newest spec is not applied. Both are empty if the spec is applied.
    reason: str = ""
    message: str = ""


def diff(
    context: typer.Context,
    name: TenantName,
    plans: PlansOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show how a tenant's live objects differ from the desired state, field by field.

    The command separates manual changes (drift) from changes of the spec or the plan that are not applied
    yet, for example because the tenant is paused or the spec is rejected. To separate them, it reads the
    tenant's stack from the state backend.

    The exit code is 2 if there is drift. It is 3 if there is no drift, but the newest spec is not applied.
    """
    connection: Connection = context.obj
    tenant = connection.tenant(name)
    if is_deleting(tenant):
        differences = CurrentDifferences(tenant, Differences(drift=()))
    else:
        differences = read_differences(
            connection, tenant, connection.live_objects(name), connection.plans(plans)
        )
    reason, message = differences.reason
    if output is not Format.TABLE:
        data = TenantDiff(
            **dict(differences.parts),
            name=name,
            is_applied=not reason,
            reason=reason,
            message=message,
        )
        print_data(data.model_dump(by_alias=True, mode="json"), output)
        print_problems(differences)
    elif is_deleting(tenant):
        console.print(f"{name} is being deleted. The watcher no longer repairs its drift.")
    elif not reason and not differences.parts.drift:
        console.print(f"{name} matches the desired state.")
    else:
        print_differences(differences)
    if differences.parts.drift:
        raise typer.Exit(_DRIFTED)
    raise typer.Exit(_NOT_APPLIED if reason else 0)
