"""Finds the update whose spec a rollback restores, and computes the changes that the rollback would make.

An update is one run of `pulumi up` on the tenant's stack. The watcher records the spec in the history of the
stack. This module only reads. The command `rollback` writes the Tenant.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cli.commands.history import is_by_hand
from cli.connection import Connection
from cli.rollback.restored_spec import Spec, restored_spec, spec_change
from cluster.facts import decide_on_live_facts
from tenancy.base.errors import TenancyError
from tenancy.base.manifest import Manifest, is_deleting
from tenancy.changes import Cause, ObjectChange, object_changes
from tenancy.plans import Plans
from watcher.history_view import UpdateView


class RollbackRefused(TenancyError):
    """There is no update to roll back to, or the spec cannot be restored. Nothing was changed."""

    reason = "RollbackRefused"


@dataclass(frozen=True)
class Target:
    """The result of `find_target`.

    `update` is the update to roll back to, and `spec` is the spec to restore. `tenant_change` is the change
    to the Tenant itself. `cluster_changes` are the changes to the objects that the watcher manages.
    """

    update: UpdateView
    spec: Spec
    tenant_change: ObjectChange
    cluster_changes: tuple[ObjectChange, ...]


def find_target(
    connection: Connection, tenant: Manifest, updates: Sequence[UpdateView], number: int | None, plans: Plans
) -> Target:
    """Find the update to roll back to, and compute the changes that the rollback would make.

    `number` is the number of the update. If it is None, the function selects the newest successful update
    whose spec differs from the current spec. `updates` are all updates of the tenant, newest first.

    Raises RollbackRefused if there is no such update, if the Tenant already has the spec of this update, or
    if the watcher would reject this spec.
    """
    name = tenant["metadata"]["name"]
    if is_deleting(tenant):
        raise RollbackRefused(f"{name} is being deleted: there is nothing to roll back")
    if not updates:
        raise RollbackRefused(f"{name} has no updates yet: there is nothing to roll back to")
    update = _newest_different(tenant, updates) if number is None else numbered_update(name, updates, number)
    spec = restored_spec(tenant, update.spec or {})
    tenant_change = spec_change(tenant, spec)
    if tenant_change is None:
        later_updates = updates[: updates.index(update)]
        raise RollbackRefused(
            f"{name} already has the spec of update {update.version}{_other_causes_text(later_updates)}"
        )
    try:
        cluster_changes = cluster_changes_for(connection, {**tenant, "spec": spec}, plans)
    except TenancyError as error:
        raise RollbackRefused(f"the spec of update {update.version} can't be restored: {error}") from None
    return Target(update, spec, tenant_change, cluster_changes)


def _newest_different(tenant: Manifest, updates: Sequence[UpdateView]) -> UpdateView:
    for update in updates:
        if update.spec is None or update.result != "succeeded":
            continue
        if spec_change(tenant, restored_spec(tenant, update.spec)) is not None:
            return update
    name = tenant["metadata"]["name"]
    raise RollbackRefused(
        f"cannot roll back {name}: all successful updates have the same spec as the Tenant"
        f"{_other_causes_text(updates)}"
    )


def numbered_update(name: str, updates: Sequence[UpdateView], number: int) -> UpdateView:
    """The update with this number.

    Raises RollbackRefused if there is no such update, or if the update contains no spec.
    """
    update = next((update for update in updates if update.version == number), None)
    if update is None:
        versions = [update.version for update in updates if update.version is not None]
        numbers = f" ({min(versions)} to {max(versions)})" if versions else ""
        raise RollbackRefused(
            f"{name} has no update {number}; choose an update{numbers} from `tenancy history {name}`"
        )
    if update.spec is None:
        why = "was made by hand" if is_by_hand(update) else f"was a {update.operation}"
        raise RollbackRefused(
            f"update {number} {why}, so its spec is not recorded: choose another update from "
            f"`tenancy history {name}`"
        )
    return update


def _other_causes_text(updates: Sequence[UpdateView]) -> str:
    """The end of an error message, which lists the updates that a rollback cannot undo.

    Empty if there are no such updates. A rollback restores only the spec. So it cannot undo updates with
    another cause, such as a new plan.
    """
    others = [
        f"{update.version} ({update.cause})" for update in updates if update.cause_type is not Cause.SPEC
    ]
    return f"; a rollback can't undo updates without a new spec: {', '.join(others)}" if others else ""


def cluster_changes_for(connection: Connection, tenant: Manifest, plans: Plans) -> tuple[ObjectChange, ...]:
    """The changes to the tenant's objects that the watcher would make for this Tenant.

    Raises Rejection if the watcher would reject the Tenant.
    """
    _, desired = decide_on_live_facts(connection.cluster, tenant, plans, connection.served)
    return object_changes(desired, connection.live_objects(tenant["metadata"]["name"]))
