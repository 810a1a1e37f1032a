"""`tenancy delete`: shows a preview of the deletion, deletes tenants, and waits until they are deleted."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.text import Text

from cli.completion import SelectorOption, TenantNames
from cli.connection import Connection, no_such_tenant
from cli.manifests.read import read_manifests
from cli.output import confirm, console, error_console
from cli.preview.deletion import deletion_preview
from cli.preview.findings.finding import Severity
from cli.preview.formats.table import print_preview
from cli.preview.manifest_checks import InvalidManifests, document_findings, findings_text
from cli.preview.result import Preview
from cli.rights.permissions import user_name
from cli.selection.manifest_paths import FilesOption
from cli.selection.tenants import matching_tenants, resource_and_name, tenants_named
from cli.wait import GONE, phase_of, wait_until_settled
from cluster.errors import ClusterError
from tenancy.base.errors import TenancyError
from tenancy.base.kinds import kind_of
from tenancy.base.labels import DELETER_ANNOTATION
from tenancy.base.manifest import Manifest, is_deleting
from tenancy.history.deleted_tenant import deleter_annotation


class DeleteRefused(TenancyError):
    """A tenant cannot be deleted, for example because it is protected or paused."""

    reason = "DeleteRefused"


class NotDeleted(TenancyError):
    """The command deleted a Tenant, but another client created a Tenant with the same name again."""

    reason = "NotDeleted"


def delete(
    context: typer.Context,
    names: TenantNames = None,
    files: FilesOption = None,
    selector: SelectorOption = "",
    is_agreed: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    is_dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Show what would be deleted, and check whether the API server would accept the deletion. "
            "Change nothing.",
        ),
    ] = False,
    is_waiting: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait until the tenants and their objects are deleted.")
    ] = True,
    timeout_s: Annotated[
        float,
        typer.Option(
            "--timeout", metavar="SECONDS", help="The maximum time to wait until all tenants are deleted."
        ),
    ] = 120.0,
    ignores_missing: Annotated[
        bool, typer.Option("--ignore-not-found", help="Do not report an error for tenants that do not exist.")
    ] = False,
) -> None:
    """Delete tenants with all their namespaces and objects, and wait until they are deleted.

    The command shows what the watcher would delete, and asks for confirmation. If you run the command without
    a terminal, pass `--yes`. If a tenant has `deletionPolicy: Retain`, its namespaces stay in the cluster.

    If one of the tenants does not exist or is protected, the command deletes none of the tenants, and the
    exit code is 1. To delete a protected tenant, first set `spec.protected: false`.

    The watcher keeps the history of a deleted tenant for 30 days. `tenancy history NAME` shows this history.
    `tenancy rollback NAME` restores the tenant, but not the objects that users had created in its namespaces.
    """
    connection: Connection = context.obj
    tenants = _targets(connection, names, files, selector, ignores_missing)
    if not tenants:
        return
    with error_console.status("reading…"):
        preview = deletion_preview(connection, tenants)
    _check(preview, tenants, is_waiting)
    if is_agreed and not is_dry_run:
        _print_warnings(preview)
    else:
        print_preview(preview)
    if not is_agreed and not is_dry_run:
        refusal = DeleteRefused("nothing was changed: without a terminal, the command needs --yes")
        confirm("Delete these tenants?", refusal)
    user = "" if is_dry_run else user_name(connection.cluster)
    for tenant in tenants:
        _delete(connection, tenant, is_dry_run=True)
        if not is_dry_run:
            _record_user(connection, tenant, user)
            _delete(connection, tenant, is_dry_run=False)
    if is_waiting and not is_dry_run:
        _wait(connection, tenants, timeout_s)
    result = "is deleted" if is_waiting else "is being deleted"
    for tenant in tenants:
        name = tenant["metadata"]["name"]
        console.print(f"{name} {'would be deleted (dry run)' if is_dry_run else result}.")


def _targets(
    connection: Connection,
    names: Sequence[str] | None,
    files: list[str] | None,
    selector: str,
    ignores_missing: bool,
) -> list[Manifest]:
    """The live Tenants to delete. Raises NoSuchTenant if one of them does not exist."""
    if sum(map(bool, (names, files, selector))) != 1:
        raise typer.BadParameter(
            "select tenants in exactly one of these ways: with names, with -f or with -l"
        )
    if selector:
        return matching_tenants(connection, selector)
    manifests = read_manifests(files or ())
    if findings := document_findings(manifests):
        raise InvalidManifests(findings_text(findings))
    if files and not manifests.tenants:
        raise DeleteRefused("found no Tenant in the given paths; check the paths")
    in_files = [
        resource_and_name(document.manifest["apiVersion"], document.name) for document in manifests.tenants
    ]
    tenants: dict[str, Manifest] = {}
    for name in (*(names or ()), *in_files):
        if tenant := _target(connection, name):
            tenants[tenant["metadata"]["uid"]] = tenant
        elif ignores_missing:
            error_console.print(Text(f"there is no tenant {name!r}"))
        else:
            raise no_such_tenant(name)
    return list(tenants.values())


def _target(connection: Connection, name: str) -> Manifest | None:
    tenants = tenants_named(connection, name)
    if len(tenants) > 1:
        both = " or ".join(resource_and_name(tenant["apiVersion"], name) for tenant in tenants)
        raise DeleteRefused(f"nothing was changed: two Tenants have the name {name!r}; use {both}")
    return tenants[0] if tenants else None


def _check(preview: Preview, tenants: Sequence[Manifest], is_waiting: bool) -> None:
    """Raise DeleteRefused if a tenant is protected, or if the command would wait for a paused tenant."""
    problems = [finding.message for finding in preview.findings(Severity.ERROR)]
    problems += [
        f"tenant {name} is paused, so the watcher does not delete its objects; run `tenancy resume {name}` "
        "first, or pass --no-wait"
        for name in (tenant["metadata"]["name"] for tenant in tenants if tenant["spec"].get("paused"))
        if is_waiting
    ]
    if problems:
        raise DeleteRefused("\n".join(["nothing was changed:", *problems]))


def _print_warnings(preview: Preview) -> None:
    for finding in preview.findings(*Severity):
        text = f"{finding.severity}: {finding.tenant}: {finding.message}"
        error_console.print(Text(text, style="yellow"))


def _record_user(connection: Connection, tenant: Manifest, user: str) -> None:
    """Write the name of the user who deletes the Tenant to an annotation of the Tenant.

    `tenancy history` shows this user for a deleted tenant. If the user has the right to delete Tenants, but
    not the right to change them, nothing is written, and the history does not contain the user.
    """
    if not user or is_deleting(tenant):
        return
    annotations = {DELETER_ANNOTATION: deleter_annotation(tenant, user)}
    change = {"metadata": {"uid": tenant["metadata"]["uid"], "annotations": annotations}}
    try:
        connection.cluster.patch(kind_of(tenant), tenant["metadata"]["name"], change)
    except ClusterError as error:
        if not error.is_refusal:
            raise


def _delete(connection: Connection, tenant: Manifest, *, is_dry_run: bool) -> None:
    metadata = tenant["metadata"]
    try:
        connection.cluster.delete(
            kind_of(tenant), metadata["name"], uid=metadata["uid"], is_dry_run=is_dry_run
        )
    except ClusterError as error:
        if not error.is_refusal:
            raise
        raise DeleteRefused(f"{metadata['name']}: {error}") from None


def _wait(connection: Connection, tenants: Sequence[Manifest], timeout_s: float) -> None:
    """Wait until the tenants are deleted. Raises NotSettled after `timeout_s` seconds.

    Raises NotDeleted if another client has created one of the tenants again.
    """
    live = [connection.cluster.get(kind_of(tenant), tenant["metadata"]["name"]) for tenant in tenants]
    deleting = [tenant for tenant in live if tenant is not None]
    settled = wait_until_settled(connection.cluster, deleting, timeout_s) if deleting else []
    names = [tenant["metadata"]["name"] for tenant in settled if phase_of(tenant) != GONE]
    if names:
        raise NotDeleted(f"deleted, but created again by another client: {', '.join(names)}")
