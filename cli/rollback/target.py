"""Which update a rollback goes back to, and whether that can be done today. Reads only; `rollback` writes."""

from collections.abc import Sequence
from dataclasses import dataclass

from cli.commands.history import is_by_hand
from cli.connection import Connection
from cli.rollback.restored_spec import Spec, restored_spec, spec_change
from cluster.facts import decide_on_live_facts
from cluster.tenants import is_deleting
from tenancy.base.errors import TenancyError
from tenancy.base.manifest import Manifest
from tenancy.changes import Cause, ObjectChange, object_changes
from tenancy.plans import Plans
from watcher.view import UpdateView


class RollbackRefused(TenancyError):
    """There is nothing to go back to, or no way there. Nothing was changed."""

    reason = "RollbackRefused"


@dataclass(frozen=True)
class Target:
    """An earlier update, and what going back to it changes."""

    update: UpdateView
    spec: Spec
    in_spec: ObjectChange
    in_cluster: tuple[ObjectChange, ...]


def find_target(
    connection: Connection, tenant: Manifest, updates: Sequence[UpdateView], number: int | None, plans: Plans
) -> Target:
    """The update of this number; without one, the newest good one whose spec is not the live one."""
    name = tenant["metadata"]["name"]
    if is_deleting(tenant):
        raise RollbackRefused(f"{name} is being deleted: there is nothing to roll back")
    if not updates:
        raise RollbackRefused(f"{name} has no updates yet: there is nothing to go back to")
    update = _newest_other(tenant, updates) if number is None else _numbered(name, updates, number)
    spec = restored_spec(tenant, update.spec or {})
    in_spec = spec_change(tenant, spec)
    if in_spec is None:
        since = [later for later in updates if later.version > update.version]
        raise RollbackRefused(f"update {update.version} has the spec that {name} has now{_others(since)}")
    try:
        in_cluster = _changes(connection, {**tenant, "spec": spec}, plans)
    except TenancyError as error:
        raise RollbackRefused(f"update {update.version} can't be restored today: {error}") from None
    return Target(update, spec, in_spec, in_cluster)


def _newest_other(tenant: Manifest, updates: Sequence[UpdateView]) -> UpdateView:
    for update in updates:
        if update.spec is None or update.result != "succeeded":
            continue
        if spec_change(tenant, restored_spec(tenant, update.spec)) is not None:
            return update
    raise RollbackRefused(
        f"no earlier update of {tenant['metadata']['name']} has another spec{_others(updates)}"
    )


def _numbered(name: str, updates: Sequence[UpdateView], number: int) -> UpdateView:
    found = next((update for update in updates if update.version == number), None)
    if found is None:
        first, last = updates[-1].version, updates[0].version
        raise RollbackRefused(
            f"{name} has no update {number}, only {first} to {last}: see `tenancy history {name}`"
        )
    if found.spec is None:
        why = "was made by hand" if is_by_hand(found) else f"was a {found.operation}"
        raise RollbackRefused(
            f"update {number} {why}, so its spec is not on record: choose one of `tenancy history {name}`"
        )
    return found


def _others(updates: Sequence[UpdateView]) -> str:
    """The updates that a rollback cannot undo, because their cause is not the spec. Newest first."""
    others = [
        f"{update.version} ({update.cause})" for update in updates if update.cause_type is not Cause.SPEC
    ]
    return f"; what changed since is not in the spec: update {', '.join(others)}" if others else ""


def _changes(connection: Connection, tenant: Manifest, plans: Plans) -> tuple[ObjectChange, ...]:
    """The changes that the watcher makes for this spec. Raises Rejection if it would reject it."""
    _, desired = decide_on_live_facts(connection.cluster, tenant, plans, connection.served)
    return object_changes(desired, connection.live_objects(tenant["metadata"]["name"]))
