"""`tenancy diff`: prints the differences between the live objects and the desired state of a tenant."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from cli.completion import TenantName
from cli.output import Format, FormatOption, console, print_changes, print_data
from cli.permissions import rights_text
from cli.reader import READ_CRDS, READ_PLANS, Reader
from tenancy.base.errors import NameTaken
from tenancy.base.kinds import CORE_KINDS
from tenancy.base.manifest import Manifest, Objects, is_deleting
from tenancy.changes import ObjectChange, object_changes
from tenancy.decision import Facts, decide
from tenancy.same_name_in_both_groups import full_name, is_duplicate
from tenancy.spec.tenant_status import ConditionType

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


@dataclass(frozen=True)
class Drift:
    """The changes that revert the drift. If some objects could not be compared, `problem` is the reason."""

    changes: tuple[ObjectChange, ...] = ()
    problem: str = ""


def diff(
    context: typer.Context,
    name: TenantName,
    plans: PlansOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show how a tenant's live objects differ from the desired state, field by field.

    The command computes the desired state from the spec and the plan. It also works for paused and failed
    tenants. The exit code is 2 if there are differences.

    If you lack rights, the command compares only the objects that you may read, and a note names the missing
    rights. If it finds no differences in these objects, the exit code is 1. JSON and YAML contain the
    differences in the field `changes`, and the missing rights in the field `missing`.
    """
    reader = Reader(context.obj)
    tenant = reader.tenant(name)
    if is_duplicate(tenant, {}):
        raise NameTaken(
            "metadata.name",
            f"{full_name(tenant)} has no objects, because an older Tenant has the same name in the other API "
            "group",
        )
    drift = Drift() if is_deleting(tenant) else current_drift(reader, tenant, reader.objects(tenant), plans)
    if output is Format.TABLE:
        _print(tenant, drift)
    else:
        changes = [change.model_dump(by_alias=True, mode="json") for change in drift.changes]
        print_data({"changes": changes, "missing": [str(right) for right in reader.missing]}, output)
    reader.print_missing()
    raise typer.Exit(2 if drift.changes else int(bool(drift.problem)))


def current_drift(reader: Reader, tenant: Manifest, live: Objects, plans_file: Path | None) -> Drift:
    """Compare the live objects with the desired objects.

    Skips objects whose kind the user may not list. Removes rights from `reader.missing` that the comparison
    does not need. Raises InvalidSpec if the spec is invalid.
    """
    kinds = {kind.key for kind in CORE_KINDS}
    plans = reader.plans(plans_file)
    if plans is None:
        reader.drop_kinds_except(kinds)
        return Drift(problem=f"you may not {READ_PLANS}")
    desired = decide(tenant, Facts(plans, reader.served or ())).desired
    if not desired.missing and READ_CRDS in reader.missing:
        reader.missing.remove(READ_CRDS)
    reader.drop_kinds_except(kinds | {key.kind for key in desired.by_key})
    changes = object_changes(desired.without(reader.unreadable), live)
    return Drift(changes, f"you may not {rights_text(reader.missing)}" if reader.missing else "")


def _print(tenant: Manifest, drift: Drift) -> None:
    name = tenant["metadata"]["name"]
    if is_deleting(tenant):
        console.print(f"{name} is being deleted. The watcher no longer repairs its drift.")
    elif drift.changes:
        print_changes(drift.changes)
    elif drift.problem:
        console.print(f"{name} has no differences in the objects that you may read.")
        console.print(_reported_drift(tenant))
    else:
        console.print(f"{name} matches the desired state.")


def _reported_drift(tenant: Manifest) -> str:
    """The condition Drifted, which the watcher has written to the status."""
    conditions: list[Manifest] = (tenant.get("status") or {}).get("conditions") or []
    drifted = next((entry for entry in conditions if entry["type"] == ConditionType.DRIFTED), None)
    if drifted is None:
        return "The status of the Tenant has no condition Drifted yet."
    message = f": {drifted['message']}" if drifted.get("message") else ""
    return f"The watcher reports the condition Drifted={drifted['status']} ({drifted['reason']}){message}"
