"""`tenancy state`: binds the state backend to the cluster."""

from typing import Annotated

import typer

from cli.connection import Connection
from cli.output import confirm, console
from cluster.errors import ClusterError
from cluster.identity import cluster_id
from tenancy.base.errors import TenancyError
from tenancy.base.kinds import LEASE
from tenancy.base.platform_names import BACKEND_ANNOTATION, SYSTEM_NAMESPACE, WATCHER
from tenancy.cluster_binding import Backend, backend_annotation

app = typer.Typer(rich_markup_mode="markdown", add_completion=False, no_args_is_help=True)

_NOT_FOUND = 404


class NotConfirmed(TenancyError):
    reason = "NotConfirmed"


@app.callback()
def state() -> None:
    """Manage the state backend, which contains the Pulumi stacks of all tenants."""


@app.command()
def claim(
    context: typer.Context,
    is_agreed: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Let this cluster use the state backend in PULUMI_BACKEND_URL.

    Run this command if the cluster was rebuilt, or if its tenants have moved to another backend. First stop
    the watcher of the cluster that has used the backend until now. Two clusters that use the same backend
    destroy each other's tenants.
    """
    connection: Connection = context.obj
    current = cluster_id(connection.cluster)
    with connection.stacks(is_claimed=True) as stacks:
        recorded = stacks.cluster_record.read()
        if recorded and recorded.cluster != current and not is_agreed:
            confirm(
                f"{stacks.cluster_record.url} belongs to the cluster {recorded.cluster}. Does the watcher of "
                "that cluster no longer run?",
                NotConfirmed("standard input is not a terminal; add --yes to claim the backend"),
            )
        record = stacks.cluster_record.claim(current, is_forced=True)
        _record_backend(connection, Backend(id=record.backend, url=stacks.cluster_record.url))
        console.print(f"{stacks.cluster_record.url} belongs to the cluster {current} now", soft_wrap=True)


def _record_backend(connection: Connection, backend: Backend) -> None:
    """Record the backend in the Lease of the watchers. Do nothing if no watcher has led yet."""
    change = {"metadata": {"annotations": {BACKEND_ANNOTATION: backend_annotation(backend)}}}
    try:
        connection.cluster.patch(LEASE, WATCHER, change, namespace=SYSTEM_NAMESPACE)
    except ClusterError as error:
        if error.status != _NOT_FOUND:
            raise
