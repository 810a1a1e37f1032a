"""`tenancy state`: moves, backs up and restores the state backend, and binds it to the cluster."""

import os
from datetime import UTC, datetime, timedelta
from typing import Annotated
from urllib.parse import urlsplit

import typer

from cli.connection import Connection
from cli.output import confirm, console
from cluster.errors import ClusterError
from cluster.identity import cluster_id
from stacks.errors import OtherCluster, StackError, without_secrets
from stacks.storage.transfer import back_up_stacks, move_stacks, restore_stacks, rotate_passphrase
from tenancy.base.errors import TenancyError
from tenancy.base.kinds import DEPLOYMENT, LEASE, STATEFUL_SET, Kind
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import BACKEND_ANNOTATION, SYSTEM_NAMESPACE, WATCHER
from tenancy.cluster_binding import Backend, backend_annotation

app = typer.Typer(rich_markup_mode="markdown", add_completion=False, no_args_is_help=True)

_NEW_PASSPHRASE = "TENANCY_NEW_PASSPHRASE"
_NOT_FOUND = 404


class WatcherRuns(TenancyError):
    reason = "WatcherRuns"


class NotConfirmed(TenancyError):
    reason = "NotConfirmed"


def _url(text: str) -> str:
    if urlsplit(text).password:
        raise typer.BadParameter(
            "must not contain a password, because other users can see it: use the environment variable "
            "PGPASSWORD or a password file (PGPASSFILE)"
        )
    return text


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


@app.command()
def move(
    context: typer.Context,
    to: Annotated[str, typer.Option(metavar="URL", callback=_url, help="The new state backend.")],
) -> None:
    """Move all stacks with their histories from the backend in PULUMI_BACKEND_URL to another backend.

    First stop the watcher. The new backend must be empty. Each written object is read again and compared. If
    the command is interrupted, repeat it. The stacks in the old backend stay unchanged. At the end, the old
    backend is marked, so that no watcher uses it.
    """
    source = _backend()
    _check_unused(context.obj)
    count = move_stacks(source, to)
    console.print(f"{count} stacks are in {without_secrets(to)} now", soft_wrap=True)


@app.command()
def backup(
    to: Annotated[str, typer.Option(metavar="URL", callback=_url, help="The backend for the backup.")],
) -> None:
    """Copy all stacks with their histories from the backend in PULUMI_BACKEND_URL to another backend.

    The watcher can run. A stack is locked while it is copied. If the other backend contains an earlier
    backup, the command updates it.
    """
    count = back_up_stacks(_backend(), to)
    console.print(f"{count} stacks are in the backup {without_secrets(to)}", soft_wrap=True)


@app.command()
def restore(
    context: typer.Context,
    source: Annotated[
        str, typer.Option("--from", metavar="URL", callback=_url, help="The backend with the backup.")
    ],
    is_overwriting: Annotated[
        bool, typer.Option("--overwrite", help="Replace the stacks in the backend by those of the backup.")
    ] = False,
) -> None:
    """Copy all stacks with their histories from a backup to the backend in PULUMI_BACKEND_URL.

    First stop the watcher. Without --overwrite, the backend must contain no stacks.
    """
    target = _backend()
    _check_unused(context.obj)
    count = restore_stacks(source, target, is_overwriting=is_overwriting)
    console.print(f"{count} stacks are in {without_secrets(target)} now", soft_wrap=True)


@app.command("rotate-passphrase")
def rotate(context: typer.Context) -> None:
    """Encrypt the stacks of all tenants with the passphrase in the variable TENANCY_NEW_PASSPHRASE.

    First stop the watcher. The current passphrase is in PULUMI_CONFIG_PASSPHRASE, or in the file
    PULUMI_CONFIG_PASSPHRASE_FILE. If the command is interrupted, repeat it with the same variables. Then
    start the watcher with the new passphrase.
    """
    url, new = _backend(), os.environ.get(_NEW_PASSPHRASE)
    if not new:
        raise StackError(f"set the environment variable {_NEW_PASSPHRASE} to the new passphrase")
    _check_unused(context.obj)
    console.print(f"{rotate_passphrase(url, new)} stacks are encrypted with the new passphrase now")


def _backend() -> str:
    url = os.environ.get("PULUMI_BACKEND_URL")
    if not url:
        raise StackError("no state backend: set PULUMI_BACKEND_URL to the value of the watcher")
    return url


def _check_unused(connection: Connection) -> None:
    """Raise WatcherRuns or OtherCluster if a watcher may write to the backend."""
    try:
        with connection.stacks():
            pass
    except OtherCluster:
        raise
    except StackError:
        pass  # A damaged backend can be restored.
    for kind in (STATEFUL_SET, DEPLOYMENT):
        workload = _workload(connection, kind)
        counts = (workload.get("spec", {}).get("replicas"), workload.get("status", {}).get("replicas"))
        if any(counts):
            command = f"kubectl -n {SYSTEM_NAMESPACE} scale {kind.kind.lower()} {WATCHER} --replicas=0"
            raise WatcherRuns(f"the watcher runs; stop it first: {command}")
    lease = (connection.cluster.get(LEASE, WATCHER, SYSTEM_NAMESPACE) or {}).get("spec", {})
    if lease.get("holderIdentity") and lease.get("renewTime"):
        duration = timedelta(seconds=lease.get("leaseDurationSeconds") or 0)
        if datetime.fromisoformat(lease["renewTime"]) + duration > datetime.now(UTC):
            raise WatcherRuns(f"the watcher {lease['holderIdentity']} runs; stop it first")


def _workload(connection: Connection, kind: Kind) -> Manifest:
    """The workload of the watcher. Empty if there is none, or if the user may not read it.

    The ServiceAccount of the watcher may not read it. The Lease shows a watcher that runs.
    """
    try:
        return connection.cluster.get(kind, WATCHER, SYSTEM_NAMESPACE) or {}
    except ClusterError as error:
        if error.is_forbidden:
            return {}
        raise


def _record_backend(connection: Connection, backend: Backend) -> None:
    """Record the backend in the Lease of the watchers. Do nothing if no watcher has led yet."""
    change = {"metadata": {"annotations": {BACKEND_ANNOTATION: backend_annotation(backend)}}}
    try:
        connection.cluster.patch(LEASE, WATCHER, change, namespace=SYSTEM_NAMESPACE)
    except ClusterError as error:
        if error.status != _NOT_FOUND:
            raise
