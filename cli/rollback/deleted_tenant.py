"""Restores a deleted tenant from its history. The new Tenant has the name and the spec of the deleted one."""

from dataclasses import dataclass

from pydantic import ValidationError

from cli.apply.author import Author, with_annotation
from cli.apply.field_ownership import ROLLBACK_MANAGER
from cli.connection import Connection
from cli.deleted_tenants import deleted_history
from cli.rollback.restored_spec import manifest_for_git
from cli.rollback.target import RollbackRefused, cluster_changes_for, numbered_update
from cluster.errors import ClusterError
from tenancy.base.errors import TenancyError
from tenancy.base.manifest import Manifest
from tenancy.changes import ObjectChange
from tenancy.history.deleted_tenant import DeletedTenant
from tenancy.plans import Plans


@dataclass(frozen=True)
class Restoration:
    """The Tenant that restores a deleted tenant.

    `origin` says where the spec comes from, such as `its last spec`. `cluster_changes` are the changes to
    objects in the cluster that the watcher makes when it applies the Tenant.
    """

    manifest: Manifest
    origin: str
    cluster_changes: tuple[ObjectChange, ...]


def find_restoration(
    connection: Connection, deleted: DeletedTenant, number: int | None, plans: Plans
) -> Restoration:
    """Build the Tenant that restores a deleted tenant, and compute the changes in the cluster. Write nothing.

    If `number` is None, the Tenant has the last spec of the deleted tenant. Otherwise, it has the spec of the
    update with this number. Raises RollbackRefused if there is no such update, or if the watcher would reject
    the Tenant.
    """
    if number is None:
        spec, origin = deleted.manifest["spec"], "its last spec"
    else:
        update = numbered_update(deleted.name, deleted_history(deleted), number)
        spec, origin = update.spec or {}, f"the spec of update {number}"
    try:
        manifest = manifest_for_git(deleted.manifest, spec)
        changes = cluster_changes_for(connection, manifest, plans)
    except (ValidationError, TenancyError) as error:
        raise RollbackRefused(f"{deleted.name} can't be restored with {origin}: {error}") from None
    return Restoration(manifest, origin, changes)


def restore(connection: Connection, restoration: Restoration, author: Author) -> Manifest:
    """Create the Tenant in the cluster, and return it.

    Raises RollbackRefused if the API server rejects the Tenant.
    """

    def send(annotation: str, is_dry_run: bool) -> Manifest:
        manifest = with_annotation(restoration.manifest, annotation)
        return connection.cluster.apply(manifest, field_manager=ROLLBACK_MANAGER, is_dry_run=is_dry_run)

    try:
        return author.write(connection.cluster, restoration.manifest, send)
    except ClusterError as error:
        if not error.is_refusal:
            raise
        raise RollbackRefused(f"nothing was changed: the API server rejected the Tenant: {error}") from None
