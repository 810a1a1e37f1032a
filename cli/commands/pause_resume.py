"""`tenancy pause` and `tenancy resume`: the watcher's work on a tenant stops, and goes on."""

from typing import Annotated, Final

import typer

from cli.completion import TenantNames
from cli.connection import Connection
from cli.output import console
from cli.wait import phase_of, reason_text, wait_until_settled
from cluster.tenants import is_deleting
from tenancy.base.errors import TenancyError
from tenancy.base.kinds import kind_of
from tenancy.base.manifest import Manifest
from tenancy.spec.tenant_status import Phase

_FIELD_MANAGER: Final = "tenancy-pause"
_TIMEOUT_S: Final = 120.0


class NotResumed(TenancyError):
    """The watcher works on the tenant again, and could not put it right."""

    reason = "NotResumed"


def pause(context: typer.Context, names: TenantNames) -> None:
    """Stop the watcher's work on tenants: they stay as they are, and drift is told but not repaired.

    If a Tenant comes from git, set `paused: true` there too, or the next sync may take it back.
    """
    connection: Connection = context.obj
    for tenant in [connection.tenant(name) for name in names]:
        if _set_paused(connection, tenant, True):
            console.print(f"{tenant['metadata']['name']} is paused.")


def resume(
    context: typer.Context,
    names: TenantNames,
    timeout_s: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="How long to wait until all is put right.")
    ] = _TIMEOUT_S,
) -> None:
    """Let the watcher work on tenants again, and wait until it has put right what is not as it should be."""
    connection: Connection = context.obj
    tenants = [connection.tenant(name) for name in names]
    resumed = [
        written for tenant in tenants if (written := _set_paused(connection, tenant, False)) is not None
    ]
    awaited = [tenant for tenant in resumed if not is_deleting(tenant)]
    settled = wait_until_settled(connection.cluster, awaited, timeout_s) if awaited else []
    failed = [tenant for tenant in settled if phase_of(tenant) != Phase.ACTIVE]
    if failed:
        told = "; ".join(f"{tenant['metadata']['name']}: {reason_text(tenant)}" for tenant in failed)
        raise NotResumed(f"the watcher works again, but {told}")
    for tenant in resumed:
        console.print(f"{tenant['metadata']['name']} is resumed.")


def _set_paused(connection: Connection, tenant: Manifest, is_paused: bool) -> Manifest | None:
    """The tenant as written; None where it is so already."""
    name = tenant["metadata"]["name"]
    if bool(tenant["spec"].get("paused")) == is_paused:
        console.print(f"{name} is paused already." if is_paused else f"{name} is not paused.")
        return None
    change = {"spec": {"paused": is_paused}}
    return connection.cluster.patch(kind_of(tenant), name, change, field_manager=_FIELD_MANAGER)
