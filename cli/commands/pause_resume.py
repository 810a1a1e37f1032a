"""`tenancy pause`, `resume`, `cordon` and `uncordon`: set `spec.paused` and `spec.cordoned` of tenants."""

from collections.abc import Sequence
from typing import Annotated, Final

import typer

from cli.apply.author import Author, MessageOption
from cli.apply.field_ownership import CORDON_MANAGER, PAUSE_MANAGER
from cli.completion import SelectorOption, TenantNames
from cli.connection import Connection
from cli.output import console
from cli.selection.tenants import selected_tenants
from cli.wait import phase_of, reason_text, wait_until_settled
from tenancy.base.errors import TenancyError
from tenancy.base.kinds import kind_of
from tenancy.base.labels import SPEC_AUTHOR_ANNOTATION
from tenancy.base.manifest import Manifest, is_deleting
from tenancy.spec.tenant_status import Phase

_TIMEOUT_S: Final = 120.0
_MANAGERS: Final = {"paused": PAUSE_MANAGER, "cordoned": CORDON_MANAGER}
TimeoutOption = Annotated[
    float,
    typer.Option(
        "--timeout", metavar="SECONDS", help="The maximum time to wait until all tenants are Active."
    ),
]


class NotResumed(TenancyError):
    """A tenant is no longer paused, but it did not become Active."""

    reason = "NotResumed"


class NotInEffect(TenancyError):
    """`spec.cordoned` is set, but the watcher did not apply it."""

    reason = "NotInEffect"


def pause(
    context: typer.Context,
    names: TenantNames = None,
    selector: SelectorOption = "",
    message: MessageOption = "",
) -> None:
    """Pause tenants. The watcher then does not change the objects of these tenants.

    The watcher reports the drift of a paused tenant in the status, but does not repair the drift. The command
    sets `spec.paused: true`. If a GitOps tool applies the Tenant from git, set the field in git too.
    Otherwise, the next sync can resume the tenant.
    """
    connection: Connection = context.obj
    tenants = selected_tenants(connection, names, selector)
    author = Author(connection.cluster, message)
    for tenant in tenants:
        if _set(connection, tenant, "paused", True, author):
            console.print(f"{tenant['metadata']['name']} is paused.")


def resume(
    context: typer.Context,
    names: TenantNames = None,
    selector: SelectorOption = "",
    message: MessageOption = "",
    timeout_s: TimeoutOption = _TIMEOUT_S,
) -> None:
    """Resume paused tenants, and wait until the watcher has applied their specs and repaired drift."""
    connection: Connection = context.obj
    tenants = selected_tenants(connection, names, selector)
    author = Author(connection.cluster, message)
    resumed = [
        updated
        for tenant in tenants
        if (updated := _set(connection, tenant, "paused", False, author)) is not None
    ]
    settled = _settled(connection, resumed, timeout_s)
    failed = [tenant for tenant in settled if phase_of(tenant) != Phase.ACTIVE]
    if failed:
        raise NotResumed(f"these tenants are resumed, but not Active: {_reasons(failed)}")
    for tenant in resumed:
        effect = ", and is being deleted" if is_deleting(tenant) else ""
        console.print(f"{tenant['metadata']['name']} is resumed{effect}.")


def cordon(
    context: typer.Context,
    names: TenantNames = None,
    selector: SelectorOption = "",
    message: MessageOption = "",
    timeout_s: TimeoutOption = _TIMEOUT_S,
) -> None:
    """Cordon tenants: their users can no longer write in the tenants' namespaces. Running workloads continue.

    The command sets `spec.cordoned: true`, and waits until the watcher has applied the change. If a GitOps
    tool applies the Tenant from git, set the field in git too.

    A cordon does not restrict the watcher, the controllers of Kubernetes, or users who can update Tenants.
    """
    connection: Connection = context.obj
    tenants = selected_tenants(connection, names, selector)
    _set_cordoned(connection, tenants, True, timeout_s, Author(connection.cluster, message))


def uncordon(
    context: typer.Context,
    names: TenantNames = None,
    selector: SelectorOption = "",
    message: MessageOption = "",
    timeout_s: TimeoutOption = _TIMEOUT_S,
) -> None:
    """Uncordon tenants: the users of a tenant can write in its namespaces again.

    The command waits until the watcher has applied the change.
    """
    connection: Connection = context.obj
    tenants = selected_tenants(connection, names, selector)
    _set_cordoned(connection, tenants, False, timeout_s, Author(connection.cluster, message))


def _set_cordoned(
    connection: Connection, tenants: Sequence[Manifest], is_cordoned: bool, timeout_s: float, author: Author
) -> None:
    changed = [
        updated
        for tenant in tenants
        if (updated := _set(connection, tenant, "cordoned", is_cordoned, author)) is not None
    ]
    failed = [
        tenant
        for tenant in _settled(connection, changed, timeout_s)
        if phase_of(tenant) != Phase.ACTIVE or tenant["spec"].get("paused")
    ]
    if failed:
        field = f"spec.cordoned: {'true' if is_cordoned else 'false'}"
        raise NotInEffect(f"{field} is stored, but the watcher did not apply it: {_reasons(failed)}")
    for tenant in changed:
        console.print(f"{tenant['metadata']['name']} is {'cordoned' if is_cordoned else 'uncordoned'}.")


def _settled(connection: Connection, tenants: Sequence[Manifest], timeout_s: float) -> list[Manifest]:
    """Wait until the tenants are settled (see `is_settled` in `cli.wait`), and return them.

    The function ignores tenants that are being deleted.
    """
    awaited = [tenant for tenant in tenants if not is_deleting(tenant)]
    return wait_until_settled(connection.cluster, awaited, timeout_s) if awaited else []


def _reasons(tenants: Sequence[Manifest]) -> str:
    return "; ".join(f"{tenant['metadata']['name']}: {reason_text(tenant)}" for tenant in tenants)


def _set(
    connection: Connection, tenant: Manifest, field: str, value: bool, author: Author
) -> Manifest | None:
    """Write a field of the spec, and return the new Tenant. None if the field already has this value."""
    name = tenant["metadata"]["name"]
    if bool(tenant["spec"].get(field)) == value:
        console.print(f"{name} is already {field}." if value else f"{name} is not {field}.")
        return None

    def send(annotation: str, is_dry_run: bool) -> Manifest:
        annotations = {SPEC_AUTHOR_ANNOTATION: annotation or None}
        change = {"metadata": {"annotations": annotations}, "spec": {field: value}}
        return connection.cluster.patch(
            kind_of(tenant), name, change, field_manager=_MANAGERS[field], is_dry_run=is_dry_run
        )

    return author.write(connection.cluster, tenant, send)
