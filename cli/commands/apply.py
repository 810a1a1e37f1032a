"""`tenancy apply`: checks Tenants in files, applies them, and waits until each tenant is Active.

If one of the Tenants is invalid, the command applies none of them. The command writes only the Tenants. The
watcher then creates the objects of each tenant.
"""

from typing import Annotated, Final

import typer
from rich.text import Text

from cli.apply.author import Author, MessageOption, with_annotation
from cli.apply.field_ownership import ApplyMethod
from cli.apply.write_tenant import FieldConflict, write_tenant
from cli.connection import Connection
from cli.manifests.read import TenantDocument, read_manifests
from cli.output import (
    PHASE_STYLES,
    Format,
    FormatOption,
    confirm,
    error_console,
    print_data,
    print_error,
    print_table,
)
from cli.preview.apply_checks import Checks, checks_before_apply
from cli.preview.findings.finding import Finding, Severity
from cli.preview.manifest_checks import finding_text, findings_text
from cli.selection.manifest_paths import FilesOption, PathsArgument, given_paths
from cli.wait import GONE, phase_of, ready_condition, wait_and_time
from cluster.errors import ClusterError
from tenancy.base.errors import TenancyError
from tenancy.base.manifest import Manifest
from tenancy.base.model import Model
from tenancy.base.reasons import Reason
from tenancy.spec.tenant_status import Phase, is_spec_applied

_FAILED_PHASES: Final = (Phase.FAILED, GONE)
# The exit code if all Tenants are stored, but at least one is not applied, because the tenant is paused.
PAUSED: Final = 3


class ApplyRefused(TenancyError):
    """There is no Tenant to apply, a check found an error, or the API server rejected a Tenant."""

    reason = "ApplyRefused"


class ApplyRow(Model):
    """A row of the output, about one tenant. `what` is `created`, `configured` or `unchanged`.

    With `--no-wait` or `--dry-run`, `phase`, `is_applied` and `took_s` are None.
    """

    name: str
    api_version: str
    what: str
    phase: str | None = None
    is_applied: bool | None = None
    reason: str = ""
    message: str = ""
    took_s: float | None = None


def apply_tenants(
    context: typer.Context,
    paths: PathsArgument = None,
    files: FilesOption = None,
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
            help="Make all checks, and check whether the API server would accept the Tenants. Change "
            "nothing.",
        ),
    ] = False,
    is_forced: Annotated[
        bool,
        typer.Option(
            "--force-conflicts",
            help="Overwrite fields that other field managers own, and remove fields that are not in the "
            "manifest.",
        ),
    ] = False,
    is_agreed: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask for confirmation if namespaces are deleted.")
    ] = False,
    message: MessageOption = "",
    output: FormatOption = Format.TABLE,
) -> None:
    """Apply Tenants from files with server-side apply, and wait until all tenants are Active.

    Before the first write, the command makes the same checks as `tenancy preview`. It skips checks for which
    you lack rights. If one of the Tenants is invalid, the command applies none of the Tenants. If namespaces
    would be deleted, the command asks for confirmation.

    The exit code is 1 if a tenant fails, or does not become Active before the timeout. The exit code is 3 if
    a Tenant is stored but not applied, because the tenant is paused.
    """
    manifests = read_manifests(given_paths(paths, files))
    documents = manifests.tenants
    if not documents and not manifests.faults:
        raise ApplyRefused("found no Tenant in the given paths; for an example, see examples/simple.yaml")
    connection: Connection = context.obj
    method = ApplyMethod(is_forced=is_forced)
    with error_console.status("checking…"):
        checks = checks_before_apply(connection, manifests, method)
    _report(checks)
    if is_dry_run:
        after = list(checks.predicted)
    else:
        if checks.destructive and not is_agreed:
            confirm("Apply these changes?", _refusal(checks.destructive))
        author = Author(connection.cluster, message)
        after = [
            _write(connection, live, document, method, author)
            for live, document in zip(checks.live, documents, strict=True)
        ]
    rows = [_row(old, new) for old, new in zip(checks.live, after, strict=True)]
    if not is_dry_run and not no_wait:
        settled = wait_and_time(connection.cluster, after, timeout_s)
        rows = [
            _settled_row(row, result.tenant, result.took_s) for row, result in zip(rows, settled, strict=True)
        ]
    _print(rows, output, is_dry_run=is_dry_run)
    failed = [row for row in rows if row.phase in _FAILED_PHASES and row.reason != Reason.PAUSED]
    for row in failed:
        print_error(f"{row.name}: {row.reason}: {row.message}")
    if failed:
        raise typer.Exit(1)
    paused = [row for row in rows if row.is_applied is False]
    for row in paused:
        print_error(f"{row.name}: {row.message}")
    if paused:
        raise typer.Exit(PAUSED)


def _report(checks: Checks) -> None:
    """Print the warnings and the skipped checks. If there are errors, raise ApplyRefused with all errors."""
    if errors := sorted(checks.of(Severity.ERROR), key=lambda finding: (finding.file, finding.line)):
        raise ApplyRefused(f"nothing was changed:\n{findings_text(errors)}")
    for finding in (*checks.of(Severity.WARNING), *checks.of(Severity.NOTE)):
        error_console.print(Text(f"{finding.severity}: {finding_text(finding)}", style="yellow"))
    for note in checks.notes:
        error_console.print(Text(f"note: {note}", style="dim"))


def _refusal(findings: list[Finding]) -> ApplyRefused:
    return ApplyRefused(
        f"nothing was changed: {findings[0].message}, and there is no terminal for confirmation; pass --yes"
    )


def _write(
    connection: Connection,
    live: Manifest | None,
    document: TenantDocument,
    method: ApplyMethod,
    author: Author,
) -> Manifest:
    try:
        return write_tenant(connection.cluster, live, document.manifest, method, author)
    except (ClusterError, FieldConflict) as error:
        raise ApplyRefused(f"{document.name}: {error}") from None


def _row(before: Manifest | None, after: Manifest) -> ApplyRow:
    what = (
        "created" if before is None else "unchanged" if _content(before) == _content(after) else "configured"
    )
    return ApplyRow(name=after["metadata"]["name"], api_version=after["apiVersion"], what=what)


def _content(tenant: Manifest) -> tuple[object, ...]:
    """The spec, the labels and the annotations of a Tenant, without the annotation that names the author.

    If this content is equal before and after the command, the output shows the Tenant as `unchanged`. The
    command itself writes the annotation with the author, and the watcher or the API server writes the rest of
    the Tenant.
    """
    metadata = with_annotation(tenant, "")["metadata"]
    return tenant.get("spec"), metadata.get("labels"), metadata.get("annotations")


def _settled_row(row: ApplyRow, tenant: Manifest, took_s: float) -> ApplyRow:
    ready, name = ready_condition(tenant), row.name
    is_active = phase_of(tenant) == Phase.ACTIVE
    # A paused tenant keeps its phase, so it can be Active although its newest spec is not applied.
    is_applied = is_spec_applied(tenant)
    reason, message = ("", "") if is_active and is_applied else (ready["reason"], ready.get("message", ""))
    if not is_applied and reason == Reason.PAUSED:
        message = f"stored, but not applied: the tenant is paused; run `tenancy resume {name}`"
    return row.model_copy(
        update={
            "phase": phase_of(tenant),
            "is_applied": is_applied,
            "reason": reason,
            "message": message,
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
                _result_text(row) + suffix,
                Text(row.phase or "-", style=PHASE_STYLES.get(row.phase or "", "")),
                "-" if row.took_s is None else f"{row.took_s:.1f} s",
            )
            for row in rows
        ),
    )


def _result_text(row: ApplyRow) -> str:
    return f"{row.what}, not applied (paused)" if row.reason == Reason.PAUSED else row.what
