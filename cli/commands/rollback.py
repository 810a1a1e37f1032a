"""`tenancy rollback`: the spec of an earlier update becomes the Tenant's again, and the watcher applies it.

It writes the Tenant and nothing else, so the watcher, git and the history agree on what is wanted.
"""

import sys
from datetime import UTC, datetime
from typing import Annotated, Final

import typer
from rich.text import Text

from cli.commands.diff import PlansOption
from cli.commands.history import read_updates
from cli.completion import TenantName
from cli.connection import Connection
from cli.output import Format, console, error_console, print_changes, print_data
from cli.rollback.restored_spec import manifest_for_git
from cli.rollback.target import RollbackRefused, Target, find_target
from cli.times import display_time
from cli.wait import phase_of, reason_text, wait_until_settled
from cluster.client import ClusterError
from tenancy.base.errors import TenancyError
from tenancy.base.kinds import kind_of
from tenancy.base.manifest import Manifest
from tenancy.spec.tenant_status import Phase

FIELD_MANAGER: Final = "tenancy-rollback"
_TIMEOUT_S: Final = 300.0


class NotApplied(TenancyError):
    """The spec is restored, and the watcher could not apply it."""

    reason = "NotApplied"


def rollback(
    context: typer.Context,
    name: TenantName,
    number: Annotated[
        int | None,
        typer.Option(
            "--to", help="The update to go back to. Default: the newest good one with another spec."
        ),
    ] = None,
    is_agreed: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would change; exit code 2 if anything would.")
    ] = False,
    plans: PlansOption = None,
    output: Annotated[
        Format,
        typer.Option("--output", "-o", help="yaml, json: print the manifest for git, and write nothing."),
    ] = Format.TABLE,
    timeout_s: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="How long to wait until it is applied.")
    ] = _TIMEOUT_S,
) -> None:
    """Restore the spec that a tenant had at an earlier update, after showing what that changes.

    The plans stay as they are, and a paused tenant stays paused.

    **If the Tenant comes from git, change it there too**, with what `-o yaml` prints: else the next sync
    takes the rollback back. `kubectl apply --server-side` is refused over values that the rollback has set,
    but puts back in silence what it has removed; a plain `kubectl apply`, or a forced one, undoes all of it.
    """
    connection: Connection = context.obj
    tenant = connection.tenant(name)
    target = find_target(connection, tenant, read_updates(connection, name), number, connection.plans(plans))
    if output is not Format.TABLE:
        print_data(manifest_for_git(tenant, target.spec), output)
        told = f"nothing was written: commit this, the spec of update {target.update.version}, to git"
        error_console.print(told)
        return
    _print_target(name, target)
    if dry_run:
        raise typer.Exit(2)
    if not is_agreed:
        _ask(name, target)
    written = _write(connection, tenant, target)
    if written["spec"].get("paused"):
        console.print(f"{name} has the spec of update {target.update.version}, but is paused: ", end="")
        console.print(f"`tenancy resume {name}` has it applied.")
        return
    (settled,) = wait_until_settled(connection.cluster, [written], timeout_s)
    if phase_of(settled) != Phase.ACTIVE:
        raise NotApplied(
            f"{name} has the spec of update {target.update.version}, but: {reason_text(settled)}"
        )
    _print_result(target, tenant, settled)


def _print_target(name: str, target: Target) -> None:
    update = target.update
    by = f" by {update.by}" if update.by else ""
    console.print(
        Text(f"{name}: back to update {update.version}", style="bold")
        + Text(f", {display_time(update.started)}, {update.cause}{by}")
    )
    if update.result != "succeeded":
        console.print(Text(f"That update {update.result}.", style="yellow"))
    console.print("\nIn the Tenant:")
    print_changes([target.in_spec])
    console.print("\nIn the cluster:" if target.in_cluster else "\nIn the cluster: nothing.")
    print_changes(target.in_cluster)


def _ask(name: str, target: Target) -> None:
    if not sys.stdin.isatty():
        raise RollbackRefused("nothing was changed: without a terminal to ask on, say --yes")
    typer.confirm(f"\nRoll {name} back to update {target.update.version}?", abort=True)


def _write(connection: Connection, seen: Manifest, target: Target) -> Manifest:
    """Replaces the spec, if it still is the one that was shown. Status may have been written meanwhile."""
    name = seen["metadata"]["name"]
    tenant = connection.tenant(name)
    if any(tenant["metadata"][field] != seen["metadata"][field] for field in ("uid", "generation")):
        raise RollbackRefused(f"nothing was changed: {name} was given another spec meanwhile; look again")
    change = [
        {"op": "test", "path": "/metadata/resourceVersion", "value": tenant["metadata"]["resourceVersion"]},
        {"op": "add", "path": "/metadata/managedFields", "value": _managed_fields(tenant)},
        {"op": "replace", "path": "/spec", "value": target.spec},
    ]
    try:
        return connection.cluster.patch(kind_of(tenant), name, change, field_manager=FIELD_MANAGER)
    except ClusterError as error:
        if not error.is_refusal:
            raise
        raise RollbackRefused(f"nothing was changed: the cluster refused the spec: {error}") from None


def _managed_fields(tenant: Manifest) -> list[Manifest]:
    """The record of who wrote what, with the rollback as the spec's newest writer.

    The server notes only who sets a field: a rollback that does no more than remove some would leave no
    trace, and the history would name whoever wrote before.
    """
    entries: list[Manifest] = tenant["metadata"].get("managedFields") or []
    own = [entry for entry in entries if entry["manager"] == FIELD_MANAGER]
    others = [entry for entry in entries if entry["manager"] != FIELD_MANAGER]
    fields = own[0]["fieldsV1"] if own else {"f:spec": {}}
    entry = {
        "manager": FIELD_MANAGER,
        "operation": "Update",
        "apiVersion": tenant["apiVersion"],
        "time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    return [*others, entry]


def _print_result(target: Target, before: Manifest, after: Manifest) -> None:
    old, new = (
        ((tenant.get("status") or {}).get("lastUpdate") or {}).get("version") for tenant in (before, after)
    )
    told = "the cluster was so already" if new == old else f"update {new}"
    console.print(
        f"{after['metadata']['name']} is back to the spec of update {target.update.version}: {told}."
    )
