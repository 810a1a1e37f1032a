"""`tenancy rollback`: restores the spec of an earlier update.

The command writes only the Tenant. The watcher applies the restored spec in a new update.
"""

from datetime import UTC, datetime
from typing import Annotated, Final

import typer
from rich.text import Text

from cli.apply.author import Author, MessageOption, with_annotation
from cli.apply.field_ownership import ROLLBACK_MANAGER
from cli.commands.diff import PlansOption
from cli.commands.history import read_updates
from cli.completion import TenantName
from cli.connection import Connection, NoSuchTenant
from cli.deleted_tenants import read_deleted
from cli.output import Format, confirm, console, error_console, print_changes, print_data
from cli.rights.reader import Reader
from cli.rollback.deleted_tenant import Restoration, find_restoration, restore
from cli.rollback.restored_spec import manifest_for_git
from cli.rollback.target import RollbackRefused, Target, find_target
from cli.selection.tenants import short_name
from cli.times import display_time
from cli.wait import phase_of, reason_text, wait_until_settled
from cluster.errors import ClusterError
from tenancy.base.errors import TenancyError
from tenancy.base.kinds import kind_of
from tenancy.base.manifest import Manifest
from tenancy.history.deleted_tenant import DeletedTenant
from tenancy.spec.tenant_status import Phase

_TIMEOUT_S: Final = 300.0


class NotApplied(TenancyError):
    """The rollback restored the spec, but the watcher could not apply the restored spec."""

    reason = "NotApplied"


def rollback(
    context: typer.Context,
    name: TenantName,
    number: Annotated[
        int | None,
        typer.Option(
            "--to",
            help="Restore the spec of the update with this number. Default: the newest successful update "
            "whose spec differs from the current spec.",
        ),
    ] = None,
    is_agreed: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Only show the changes. The exit code is 2 if there are changes."),
    ] = False,
    plans: PlansOption = None,
    output: Annotated[
        Format,
        typer.Option(
            "--output",
            "-o",
            help="With `yaml` or `json`, only print the manifest with the earlier spec, for example for "
            "git. Change nothing.",
        ),
    ] = Format.TABLE,
    timeout_s: Annotated[
        float,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            help="The maximum time to wait until the watcher has applied the spec.",
        ),
    ] = _TIMEOUT_S,
    message: MessageOption = "",
) -> None:
    """Restore the spec of an earlier update. The command shows the changes, and asks for confirmation.

    The command does not restore earlier plans. The current values of `paused` and `cordoned` stay. For
    example, a paused tenant stays paused.

    If the tenant was deleted in the last 30 days, the command creates the tenant again, with its last spec or
    with the spec of the update in `--to`. It does not restore the objects that users had created in the
    tenant's namespaces.

    **If the Tenant comes from git, also change it in git.** Commit the output of `-o yaml`. Otherwise, the
    next sync from git undoes the rollback.
    """
    connection: Connection = context.obj
    name = short_name(name)
    try:
        tenant = connection.tenant(name)
    except NoSuchTenant:
        if not (deleted := read_deleted(connection, name)):
            raise
        plans_in_force = Reader(connection).required_plans(plans)
        restoration = find_restoration(connection, deleted[0], number, plans_in_force)
        if output is not Format.TABLE:
            print_data(restoration.manifest, output)
            error_console.print("nothing was changed; apply this manifest to restore the tenant")
            return
        _restore(connection, deleted[0], restoration, is_agreed, dry_run, timeout_s, message)
        return
    plans_in_force = Reader(connection).required_plans(plans)
    target = find_target(connection, tenant, read_updates(connection, name), number, plans_in_force)
    if output is not Format.TABLE:
        print_data(manifest_for_git(tenant, target.spec), output)
        version = target.update.version
        error_console.print(
            f"nothing was changed; commit this manifest to restore the spec of update {version}"
        )
        return
    _print_target(name, target)
    if dry_run:
        raise typer.Exit(2)
    if not is_agreed:
        _confirm(name, target)
    written = _write(connection, tenant, target, Author(connection.cluster, message))
    if written["spec"].get("paused"):
        console.print(f"{name} has the spec of update {target.update.version}, but is paused: ", end="")
        console.print(f"run `tenancy resume {name}` to apply it.")
        return
    (settled,) = wait_until_settled(connection.cluster, [written], timeout_s)
    if phase_of(settled) != Phase.ACTIVE:
        raise NotApplied(
            f"{name} has the spec of update {target.update.version}, but is not Active: "
            f"{reason_text(settled)}"
        )
    _print_result(target, tenant, settled)


def _restore(
    connection: Connection,
    deleted: DeletedTenant,
    restoration: Restoration,
    is_agreed: bool,
    dry_run: bool,
    timeout_s: float,
    message: str,
) -> None:
    """Restore a deleted tenant: show the changes, ask for confirmation, create the Tenant, and wait.

    Raises NotApplied if the tenant does not become Active.
    """
    name, by = deleted.name, f" by {deleted.deleted_by}" if deleted.deleted_by else ""
    console.print(
        Text(f"{name}: create again with {restoration.origin}", style="bold")
        + Text(f", deleted {display_time(deleted.deleted_at.isoformat())}{by}")
    )
    console.print("\nIn the cluster:")
    print_changes(restoration.cluster_changes)
    if dry_run:
        raise typer.Exit(2)
    if not is_agreed:
        refusal = RollbackRefused("nothing was changed: without a terminal, the rollback needs --yes")
        confirm(f"\nCreate {name} again?", refusal)
    created = restore(connection, restoration, Author(connection.cluster, message))
    (settled,) = wait_until_settled(connection.cluster, [created], timeout_s)
    if phase_of(settled) != Phase.ACTIVE:
        raise NotApplied(f"{name} is created again, but is not Active: {reason_text(settled)}")
    console.print(f"{name} exists again with {restoration.origin}.")


def _print_target(name: str, target: Target) -> None:
    update = target.update
    by = f", by {update.by}" if update.by else ""
    console.print(
        Text(f"{name}: back to update {update.version}", style="bold")
        + Text(f", {display_time(update.started)}, {update.cause}{by}")
    )
    if update.result != "succeeded":
        console.print(Text(f"That update {update.result}.", style="yellow"))
    console.print("\nIn the Tenant:")
    print_changes([target.tenant_change])
    console.print("\nIn the cluster:" if target.cluster_changes else "\nIn the cluster: no changes.")
    print_changes(target.cluster_changes)


def _confirm(name: str, target: Target) -> None:
    refusal = RollbackRefused("nothing was changed: without a terminal, the rollback needs --yes")
    confirm(f"\nRoll {name} back to update {target.update.version}?", refusal)


def _write(connection: Connection, shown_tenant: Manifest, target: Target, author: Author) -> Manifest:
    """Replace the spec of the live Tenant with `target.spec`, and return the updated Tenant.

    Raises RollbackRefused if the live spec is no longer the spec of `shown_tenant`, or if the API server
    rejects the patch. A changed status is not an error.
    """
    name = shown_tenant["metadata"]["name"]
    tenant = connection.tenant(name)
    if any(tenant["metadata"][field] != shown_tenant["metadata"][field] for field in ("uid", "generation")):
        raise RollbackRefused(
            f"nothing was changed: the spec of {name} has changed since this command read it; try again"
        )

    def send(annotation: str, is_dry_run: bool) -> Manifest:
        metadata = with_annotation(tenant, annotation)["metadata"]
        patch = [
            {"op": "test", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]},
            {"op": "add", "path": "/metadata/managedFields", "value": _managed_fields(tenant)},
            {"op": "add", "path": "/metadata/annotations", "value": metadata.get("annotations", {})},
            {"op": "replace", "path": "/spec", "value": target.spec},
        ]
        return connection.cluster.patch(
            kind_of(tenant), name, patch, field_manager=ROLLBACK_MANAGER, is_dry_run=is_dry_run
        )

    try:
        return author.write(connection.cluster, tenant, send)
    except ClusterError as error:
        if not error.is_refusal:
            raise
        raise RollbackRefused(f"nothing was changed: the API server rejected the spec: {error}") from None


def _managed_fields(tenant: Manifest) -> list[Manifest]:
    """The Tenant's managedFields, with an entry for the rollback as the newest writer of the spec.

    The API server adds an entry only if a field manager sets a field. So it adds no entry for a rollback that
    only removes fields. Without an entry, the history would show the previous field manager as the author.
    """
    entries: list[Manifest] = tenant["metadata"].get("managedFields") or []
    own = [entry for entry in entries if entry["manager"] == ROLLBACK_MANAGER]
    others = [entry for entry in entries if entry["manager"] != ROLLBACK_MANAGER]
    fields = own[0]["fieldsV1"] if own else {"f:spec": {}}
    entry = {
        "manager": ROLLBACK_MANAGER,
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
    effect = "no update was necessary" if new == old else f"update {new} has applied it"
    console.print(
        f"{after['metadata']['name']} has the spec of update {target.update.version} again; {effect}."
    )
