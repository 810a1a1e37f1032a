"""`tenancy diff`: prints the differences between the live objects and the desired state of a tenant."""

from pathlib import Path
from typing import Annotated, Final

import typer

from cli.completion import TenantName
from cli.differences import CurrentDifferences, print_differences, print_problems, read_differences
from cli.output import Format, FormatOption, console, print_data
from cli.rights.reader import Reader
from tenancy.base.errors import NameTaken
from tenancy.base.kinds import TENANTS, kind_of
from tenancy.base.manifest import Manifest, is_deleting
from tenancy.changes import Differences
from tenancy.same_name_in_both_groups import full_name, is_duplicate

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


# The exit codes if the comparison is incomplete, if there is drift, or if the newest spec is not applied.
_INCOMPLETE: Final = 1
_DRIFTED: Final = 2
_NOT_APPLIED: Final = 3


class TenantDiff(Differences):
    """The data that the command prints as JSON or YAML."""

    name: str
    is_applied: bool
    # Why the newest spec is not applied. Both fields are empty if it is applied.
    reason: str = ""
    message: str = ""
    # The rights that the user lacks.
    missing: tuple[str, ...] = ()


def diff(
    context: typer.Context,
    name: TenantName,
    plans: PlansOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show how a tenant's live objects differ from the desired state, field by field.

    The output has two parts: manual changes (drift), and changes to the spec or the plan that are not applied
    yet, for example because the tenant is paused. To distinguish the two, the command reads the tenant's
    stack from the state backend.

    The exit code is 2 if there is drift. The exit code is 3 if there is no drift, but the newest spec is not
    applied.

    If you lack rights, the command compares only the objects that you can read, and a note lists the missing
    rights. If there is no drift in these objects, the exit code is 1, even if the newest spec is not applied.
    In JSON and YAML, the field `missing` contains the missing rights.
    """
    reader = Reader(context.obj)
    tenant = reader.tenant(name)
    if is_duplicate(tenant, {}):
        raise NameTaken(
            "metadata.name",
            f"{full_name(tenant)} has no objects, because an older Tenant has the same name in the API group "
            f"{_other_group(tenant)}",
        )
    if is_deleting(tenant):
        differences = CurrentDifferences(tenant, Differences(drift=()))
    else:
        differences = read_differences(reader, tenant, reader.objects(tenant), plans)
    _print(differences, reader, output)
    reader.print_missing()
    reason, _ = differences.reason
    if differences.parts.drift:
        raise typer.Exit(_DRIFTED)
    if reader.missing:
        raise typer.Exit(_INCOMPLETE)
    raise typer.Exit(_NOT_APPLIED if reason else 0)


def _other_group(tenant: Manifest) -> str:
    """The API group of Tenants that `tenant` does not belong to. Tenants exist in two API groups."""
    return next(kind.group for kind in TENANTS if kind != kind_of(tenant))


def _print(differences: CurrentDifferences, reader: Reader, output: Format) -> None:
    name, (reason, message) = differences.tenant["metadata"]["name"], differences.reason
    if output is not Format.TABLE:
        data = TenantDiff(
            **dict(differences.parts),
            name=name,
            is_applied=not reason,
            reason=reason,
            message=message,
            missing=tuple(map(str, reader.missing)),
        )
        print_data(data.model_dump(by_alias=True, mode="json"), output)
        print_problems(differences)
    elif is_deleting(differences.tenant):
        console.print(f"{name} is being deleted. The watcher no longer repairs its drift.")
    elif not reason and not differences.parts.drift and not differences.drift_problem:
        console.print(f"{name} matches the desired state.")
    else:
        print_differences(differences)
