"""`tenancy apply`: Tenants from files, all or none, and then the wait until each is what it should be.

The Tenants alone are written; the watcher does the rest. Faults in a file are told before anything is sent.
"""

from pathlib import Path
from typing import Annotated, Final

import typer
from rich.text import Text

from cli.connection import Connection
from cli.manifests import ManifestError, TenantDocument, read_manifests
from cli.output import PHASE_STYLES, Format, FormatOption, print_data, print_error, print_table
from cli.wait import GONE, phase_of, ready_condition, wait_and_time
from cluster.client import Cluster, ClusterError
from tenancy.base.errors import InvalidSpec, TenancyError
from tenancy.base.kinds import kind_of
from tenancy.base.manifest import Manifest
from tenancy.base.model import Model
from tenancy.spec.tenant import tenant_from_manifest
from tenancy.spec.tenant_status import Phase

FIELD_MANAGER: Final = "tenancy-cli"
_CONFLICT: Final = 409
# What the API server writes itself: a manifest that was read from it may hold these.
_SERVERS_OWN: Final = (
    "creationTimestamp",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "uid",
)
_FAILED: Final = (Phase.FAILED, GONE)


class ApplyRefused(TenancyError):
    reason = "ApplyRefused"


class Applied(Model):
    """A line of the table. Phase and time are those after the wait."""

    name: str
    api_version: str
    what: str
    phase: str | None = None
    reason: str = ""
    message: str = ""
    took_s: float | None = None


def apply_tenants(
    context: typer.Context,
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH", help="Files or folders of manifests; `-`: standard input.")
    ],
    timeout_s: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="How long to wait for all.")
    ] = 120.0,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Don't wait until they are Active.")] = False,
    is_dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only ask the API server whether it would take them.")
    ] = False,
    is_forced: Annotated[
        bool,
        typer.Option("--force-conflicts", help="Take over fields that somebody else has set otherwise."),
    ] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Apply Tenants from files, and wait until each is Active. None is applied when one of them is faulty."""
    given = read_manifests(paths)
    check_manifests(given)
    connection: Connection = context.obj
    manifests = [_sendable(found.manifest) for found in given]
    # What the API server refuses, it refuses before the first one is written.
    for manifest in manifests:
        _send(connection.cluster, manifest, is_forced, is_dry_run=True)
    before = [
        connection.cluster.get(kind_of(manifest), manifest["metadata"]["name"]) for manifest in manifests
    ]
    written = [_send(connection.cluster, manifest, is_forced, is_dry_run) for manifest in manifests]
    rows = [_row(old, new) for old, new in zip(before, written, strict=True)]
    if not is_dry_run and not no_wait:
        settled = wait_and_time(connection.cluster, written, timeout_s)
        rows = [
            _settled_row(row, found.tenant, found.took_s) for row, found in zip(rows, settled, strict=True)
        ]
    _print(rows, output, is_dry_run=is_dry_run)
    failed = [row for row in rows if row.phase in _FAILED and not no_wait]
    for row in failed:
        print_error(f"{row.name}: {row.reason}: {row.message}")
    if failed:
        raise typer.Exit(1)


def check_manifests(given: list[TenantDocument]) -> None:
    """By the model, as the watcher would: the first fault, with its file and line."""
    if not given:
        raise ApplyRefused("there is no Tenant in what was given; see examples/simple.yaml")
    seen: dict[tuple[str, str], TenantDocument] = {}
    for tenant in given:
        key = (tenant.manifest["apiVersion"], tenant.name)
        if key in seen:
            first = seen[key]
            problem = f"metadata.name: {tenant.name!r} stands in {first.file}:{first.line} already"
            raise ManifestError(tenant.file, tenant.line_of("metadata.name"), problem)
        seen[key] = tenant
        try:
            tenant_from_manifest(tenant.manifest)
        except InvalidSpec as error:
            raise ManifestError(tenant.file, tenant.line_of(error.field), str(error)) from None


def _sendable(manifest: Manifest) -> Manifest:
    metadata = {field: value for field, value in manifest["metadata"].items() if field not in _SERVERS_OWN}
    return {**{field: value for field, value in manifest.items() if field != "status"}, "metadata": metadata}


def _send(cluster: Cluster, manifest: Manifest, is_forced: bool, is_dry_run: bool) -> Manifest:
    name = manifest["metadata"]["name"]
    try:
        return cluster.apply(
            manifest, field_manager=FIELD_MANAGER, is_forced=is_forced, is_dry_run=is_dry_run
        )
    except ClusterError as error:
        advice = ""
        if error.status == _CONFLICT and not is_forced:
            advice = "; leave these fields out, or take them over with --force-conflicts"
        raise ApplyRefused(f"{name}: {error}{advice}") from None


def _row(before: Manifest | None, after: Manifest) -> Applied:
    what = (
        "created" if before is None else "unchanged" if _content(before) == _content(after) else "configured"
    )
    return Applied(name=after["metadata"]["name"], api_version=after["apiVersion"], what=what)


def _content(tenant: Manifest) -> tuple[object, ...]:
    """What people write; the watcher's own writes are no change of theirs."""
    metadata = tenant["metadata"]
    return tenant.get("spec"), metadata.get("labels"), metadata.get("annotations")


def _settled_row(row: Applied, tenant: Manifest, took_s: float) -> Applied:
    is_active = phase_of(tenant) == Phase.ACTIVE
    ready = ready_condition(tenant)
    return row.model_copy(
        update={
            "phase": phase_of(tenant),
            "reason": "" if is_active else ready["reason"],
            "message": "" if is_active else ready.get("message", ""),
            "took_s": round(took_s, 1),
        }
    )


def _print(rows: list[Applied], output: Format, *, is_dry_run: bool) -> None:
    if output is not Format.TABLE:
        print_data([row.model_dump(by_alias=True, mode="json") for row in rows], output)
        return
    suffix = " (dry run)" if is_dry_run else ""
    print_table(
        ("NAME", "WHAT", "PHASE", "TOOK"),
        (
            (
                row.name,
                row.what + suffix,
                Text(row.phase or "-", style=PHASE_STYLES.get(row.phase or "", "")),
                "-" if row.took_s is None else f"{row.took_s:.1f} s",
            )
            for row in rows
        ),
    )
