"""`tenancy apply`: validates Tenants in files, applies them, and waits until each is Active.

If one of the Tenants is invalid, the command applies none of them. The command writes only the Tenants. The
watcher then creates the objects of each tenant.
"""

from pathlib import Path
from typing import Annotated, Final

import typer
from rich.text import Text

from cli.connection import Connection
from cli.manifests import ManifestError, TenantDocument, read_manifests
from cli.output import PHASE_STYLES, Format, FormatOption, print_data, print_error, print_table
from cli.wait import GONE, phase_of, ready_condition, wait_and_time
from cluster.client import Cluster
from cluster.errors import ClusterError
from tenancy.base.errors import InvalidSpec, TenancyError
from tenancy.base.kinds import kind_of
from tenancy.base.manifest import Manifest
from tenancy.base.model import Model
from tenancy.spec.tenant import tenant_from_manifest
from tenancy.spec.tenant_status import Phase

FIELD_MANAGER: Final = "tenancy-cli"
_CONFLICT: Final = 409
# Metadata that the API server sets. The output of `kubectl get -o yaml` contains these fields, but they must
# not be applied.
_SERVER_SET_METADATA: Final = (
    "creationTimestamp",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "uid",
)
_FAILED_PHASES: Final = (Phase.FAILED, GONE)


class ApplyRefused(TenancyError):
    """There is nothing to apply, or the API server rejected a Tenant."""

    reason = "ApplyRefused"


class ApplyRow(Model):
    """A row of the output. With `--no-wait` or `--dry-run`, `phase` and `took_s` are None."""

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
        list[Path],
        typer.Argument(
            metavar="PATH",
            help="Files or folders with Tenant manifests. `-` means standard input.",
        ),
    ],
    timeout_s: Annotated[
        float,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            help="The maximum time to wait until all tenants are Active.",
        ),
    ] = 120.0,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Do not wait until the tenants are Active.")
    ] = False,
    is_dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Only check whether the API server would accept the Tenants. Change nothing.",
        ),
    ] = False,
    is_forced: Annotated[
        bool,
        typer.Option("--force-conflicts", help="Overwrite fields that another field manager has set."),
    ] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Apply Tenants from files with server-side apply, and wait until all tenants are Active.

    If one of the Tenants is invalid, the command applies none of them. The exit code is 1 if a tenant fails,
    or if it is not Active before the timeout.
    """
    documents = read_manifests(paths)
    check_manifests(documents)
    connection: Connection = context.obj
    manifests = [_without_server_fields(document.manifest) for document in documents]
    # First a dry run of all Tenants, so that nothing is written if the API server rejects one of them.
    for manifest in manifests:
        _send(connection.cluster, manifest, is_forced, is_dry_run=True)
    before = [
        connection.cluster.get(kind_of(manifest), manifest["metadata"]["name"]) for manifest in manifests
    ]
    after = [_send(connection.cluster, manifest, is_forced, is_dry_run) for manifest in manifests]
    rows = [_row(old, new) for old, new in zip(before, after, strict=True)]
    if not is_dry_run and not no_wait:
        settled = wait_and_time(connection.cluster, after, timeout_s)
        rows = [
            _settled_row(row, result.tenant, result.took_s) for row, result in zip(rows, settled, strict=True)
        ]
    _print(rows, output, is_dry_run=is_dry_run)
    failed = [row for row in rows if row.phase in _FAILED_PHASES and not no_wait]
    for row in failed:
        print_error(f"{row.name}: {row.reason}: {row.message}")
    if failed:
        raise typer.Exit(1)


def check_manifests(documents: list[TenantDocument]) -> None:
    """Validate the spec of each Tenant, and check that no name is repeated.

    Raises ManifestError for the first invalid spec or repeated name. Raises ApplyRefused if there are no
    documents.
    """
    if not documents:
        raise ApplyRefused("found no Tenant in the given paths; for an example, see examples/simple.yaml")
    by_key: dict[tuple[str, str], TenantDocument] = {}
    for document in documents:
        key = (document.manifest["apiVersion"], document.name)
        if key in by_key:
            first = by_key[key]
            problem = (
                f"metadata.name: the Tenant {document.name!r} is also in {first.file}:{first.line}; remove "
                "one of the two manifests"
            )
            raise ManifestError(document.file, document.line_of("metadata.name"), problem)
        by_key[key] = document
        try:
            tenant_from_manifest(document.manifest)
        except InvalidSpec as error:
            raise ManifestError(document.file, document.line_of(error.field), str(error)) from None


def _without_server_fields(manifest: Manifest) -> Manifest:
    metadata = {
        field: value for field, value in manifest["metadata"].items() if field not in _SERVER_SET_METADATA
    }
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
            advice = "; remove these fields from the manifest, or overwrite them with --force-conflicts"
        raise ApplyRefused(f"{name}: {error}{advice}") from None


def _row(before: Manifest | None, after: Manifest) -> ApplyRow:
    what = (
        "created" if before is None else "unchanged" if _content(before) == _content(after) else "configured"
    )
    return ApplyRow(name=after["metadata"]["name"], api_version=after["apiVersion"], what=what)


def _content(tenant: Manifest) -> tuple[object, ...]:
    """The parts of a Tenant that users change: the spec, labels and annotations.

    The watcher or the API server writes all other parts.
    """
    metadata = tenant["metadata"]
    return tenant.get("spec"), metadata.get("labels"), metadata.get("annotations")


def _settled_row(row: ApplyRow, tenant: Manifest, took_s: float) -> ApplyRow:
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


def _print(rows: list[ApplyRow], output: Format, *, is_dry_run: bool) -> None:
    if output is not Format.TABLE:
        print_data([row.model_dump(by_alias=True, mode="json") for row in rows], output)
        return
    suffix = " (dry run)" if is_dry_run else ""
    print_table(
        ("NAME", "RESULT", "PHASE", "DURATION"),
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
