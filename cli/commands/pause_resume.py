"""`tenancy pause` and `tenancy resume`: stop and restart the reconciliation of tenants."""

from typing import Annotated, Final

import typer

from cli.apply.author import Author, MessageOption
from cli.apply.field_ownership import PAUSE_MANAGER
from cli.completion import TenantNames
from cli.connection import Connection
from cli.output import console
from cli.wait import phase_of, reason_text, wait_until_settled
from tenancy.base.errors import TenancyError
from tenancy.base.kinds import kind_of
from tenancy.base.labels import SPEC_AUTHOR_ANNOTATION
from tenancy.base.manifest import Manifest, is_deleting
from tenancy.spec.tenant_status import Phase

_TIMEOUT_S: Final = 120.0


class NotResumed(TenancyError):
    """A tenant is no longer paused, but it did not become Active."""

    reason = "NotResumed"


def pause(context: typer.Context, names: TenantNames, message: MessageOption = "") -> None:
    """Pause tenants. The watcher then changes none of their objects.

    The status of a paused tenant reports drift, but the watcher does not repair it. The command sets
    `spec.paused: true`. If a Tenant comes from git, set the field in git too. Otherwise the next sync may
    resume the tenant.
    """
    connection: Connection = context.obj
    tenants = [connection.tenant(name) for name in names]
    author = Author(connection.cluster, message)
    for tenant in tenants:
        if _set_paused(connection, tenant, True, author):
            console.print(f"{tenant['metadata']['name']} is paused.")


def resume(
    context: typer.Context,
    names: TenantNames,
    message: MessageOption = "",
    timeout_s: Annotated[
        float,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            help="The maximum time to wait until all tenants are Active.",
        ),
    ] = _TIMEOUT_S,
) -> None:
    """Resume paused tenants. Wait until the watcher has applied their specs and repaired drift."""
    connection: Connection = context.obj
    tenants = [connection.tenant(name) for name in names]
    author = Author(connection.cluster, message)
    resumed = [
        updated
        for tenant in tenants
        if (updated := _set_paused(connection, tenant, False, author)) is not None
    ]
    awaited = [tenant for tenant in resumed if not is_deleting(tenant)]
    settled = wait_until_settled(connection.cluster, awaited, timeout_s) if awaited else []
    failed = [tenant for tenant in settled if phase_of(tenant) != Phase.ACTIVE]
    if failed:
        reasons = "; ".join(f"{tenant['metadata']['name']}: {reason_text(tenant)}" for tenant in failed)
        raise NotResumed(f"these tenants are resumed, but not Active: {reasons}")
    for tenant in resumed:
        console.print(f"{tenant['metadata']['name']} is resumed.")


def _set_paused(connection: Connection, tenant: Manifest, is_paused: bool, author: Author) -> Manifest | None:
    """Write `spec.paused`, and return the updated Tenant. Return None if the field already has this value."""
    name = tenant["metadata"]["name"]
    if bool(tenant["spec"].get("paused")) == is_paused:
        console.print(f"{name} is already paused." if is_paused else f"{name} is not paused.")
        return None

    def send(annotation: str, is_dry_run: bool) -> Manifest:
        annotations = {SPEC_AUTHOR_ANNOTATION: annotation or None}
        change = {"metadata": {"annotations": annotations}, "spec": {"paused": is_paused}}
        return connection.cluster.patch(
            kind_of(tenant), name, change, field_manager=PAUSE_MANAGER, is_dry_run=is_dry_run
        )

    return author.write(connection.cluster, tenant, send)
