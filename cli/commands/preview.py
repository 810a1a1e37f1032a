"""`tenancy preview` and `tenancy validate`: show the changes and the errors of Tenant manifests.

`preview` compares the manifests with the cluster or a git revision. `validate` needs no cluster.
"""

from pathlib import Path
from typing import Annotated, Final

import typer

from cli.apply.field_ownership import APPLY_MANAGER, CLIENT_SIDE_MANAGER, ApplyMethod
from cli.connection import Connection
from cli.manifests.read import ManifestSet, read_manifests
from cli.manifests.sources import STDIN
from cli.output import console, error_console, print_error
from cli.preview.compare import Comparison
from cli.preview.comparison_base import empty_base, read_live, read_revision
from cli.preview.exit_code import exit_code
from cli.preview.findings.finding import Severity
from cli.preview.formats.render import (
    OldFormatOption,
    OutputFileOption,
    PreviewFormat,
    PreviewFormatOption,
    write_preview,
)
from cli.preview.git_revision import sources_at_revision, text_at_revision
from cli.preview.manifest_checks import finding_text, manifest_findings
from cli.preview.predictions import predictions_on
from cli.preview.result import Preview
from cli.rights.reader import Reader
from cli.selection.manifest_paths import FilesOption, PathsArgument, given_paths
from tenancy.base.errors import TenancyError
from tenancy.plans import Plans, plans_from_text, read_plans


class NoTenants(TenancyError):
    """The paths contain no Tenant.

    This is an error. Otherwise, the command would report "no changes" for a mistyped path.
    """

    reason = "NoTenants"


TENANCY_APPLY: Final = "tenancy-apply"
KUBECTL_APPLY: Final = "kubectl-apply"
AsIfOption = Annotated[
    str,
    typer.Option(
        "--as-if",
        metavar="METHOD",
        help="How the manifests will be applied: `tenancy-apply`, `kubectl-apply` (client-side), or the name "
        "of a field manager that uses server-side apply, such as `argocd-controller`.",
    ),
]


def apply_method(name: str, is_forced: bool) -> ApplyMethod:
    """The ApplyMethod for a value of the option `--as-if`, such as `kubectl-apply`.

    Raises BadParameter for a client-side `kubectl apply` with `is_forced`.
    """
    if name == KUBECTL_APPLY:
        if is_forced:
            raise typer.BadParameter("--force-conflicts has no effect with --as-if kubectl-apply")
        return ApplyMethod(CLIENT_SIDE_MANAGER, is_client_side=True)
    return ApplyMethod(APPLY_MANAGER if name == TENANCY_APPLY else name, is_forced)


def preview(
    context: typer.Context,
    paths: PathsArgument = None,
    files: FilesOption = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="REF",
            help="Compare with the files in this git revision, instead of with a cluster.",
        ),
    ] = None,
    offline: Annotated[
        bool,
        typer.Option(
            "--offline",
            help="Do not connect to a cluster. Validate the manifests, and show all objects as new.",
        ),
    ] = False,
    plans: Annotated[
        Path | None,
        typer.Option(
            help="The plans file. Default: the plans in the ConfigMap tenancy-system/tenancy-plans. If there "
            "is no such ConfigMap, and with --against or --offline: the shipped plans.",
        ),
    ] = None,
    prune: Annotated[
        bool,
        typer.Option(
            "--prune",
            help="Show tenants of the cluster without a manifest in the paths as deleted.",
        ),
    ] = False,
    as_if: AsIfOption = TENANCY_APPLY,
    is_forced: Annotated[
        bool,
        typer.Option("--force-conflicts", help="Show the result of `tenancy apply --force-conflicts`."),
    ] = False,
    output: PreviewFormatOption = PreviewFormat.TABLE,
    old_output: OldFormatOption = None,
    output_file: OutputFileOption = None,
) -> None:
    """Show the changes that Tenant manifests would make, field by field, and warn about risky changes.

    `+` marks an object that would be created, `~` an object that would be updated, and `-` an object that
    would be deleted. `^` marks a namespace that would be removed from the tenant, but not from the cluster.

    The command changes nothing. It needs only read rights, which the ClusterRole and the Role
    `tenancy-preview` contain. To make the changes, run `tenancy apply`.

    The exit code is 0 if there are no changes, and 2 if there are changes. It is 1 after an error, for
    example if the watcher would reject a tenant.
    """
    if offline and (against or prune):
        raise typer.BadParameter(
            "--offline does not compare the manifests, so it cannot be combined with --against or --prune"
        )
    paths = given_paths(paths, files)
    with error_console.status("reading…"):
        result = _preview(context.obj, paths, against, offline, plans, prune, apply_method(as_if, is_forced))
    default_file = paths[0] if paths[0] != STDIN else "stdin"
    write_preview(result, old_output or output, output_file, default_file=default_file)
    raise typer.Exit(exit_code(result))


def validate(
    paths: PathsArgument = None,
    files: FilesOption = None,
    plans: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="The plans file. With this option, the command also makes the checks that depend on plans, "
            "for example that the plan of each tenant exists.",
        ),
    ] = None,
) -> None:
    """Check Tenant manifests without a cluster, and print the file and the line of each error.

    The command makes all checks of `tenancy apply` that need no cluster. For all checks, run
    `tenancy preview`. For example, `tenancy preview` also checks that no other tenant uses the same
    namespaces. For output in the SARIF format, run `tenancy preview --offline`.

    The exit code is 0 if all manifests are valid, and 1 if there is an error.
    """
    manifests = read_manifests(given_paths(paths, files))
    if not manifests.tenants and not manifests.faults:
        raise NoTenants("found no Tenant in the given paths; check the paths")
    findings = manifest_findings(manifests)
    if plans:
        preview = Comparison(read_plans(plans), empty_base()).preview(manifests, is_complete=False)
        findings = list(preview.findings(Severity.ERROR))
    for finding in findings:
        print_error(finding_text(finding))
    if findings:
        raise typer.Exit(1)
    count = len(manifests.tenants)
    skipped = f" Skipped documents of other kinds: {manifests.others}." if manifests.others else ""
    console.print(f"{count} Tenant{'s are' if count > 1 else ' is'} valid.{skipped}")


def _preview(
    connection: Connection,
    paths: list[str],
    against: str | None,
    is_offline: bool,
    plans_file: Path | None,
    prune: bool,
    method: ApplyMethod,
) -> Preview:
    manifests = _read_manifests(paths, against)
    if not (manifests.tenants or manifests.faults or against or prune):
        raise NoTenants("found no Tenant in the given paths; check the paths")
    if against or is_offline:
        plans = read_plans(plans_file) if plans_file else read_plans()
        base = (
            read_revision(against, paths, _plans_at(against, plans_file, plans)) if against else empty_base()
        )
    else:
        plans, base = Reader(connection).required_plans(plans_file), read_live(connection)
    comparison = Comparison(plans, base, predictions_on(base, method))
    return comparison.preview(manifests, is_complete=prune or bool(against))


def _read_manifests(paths: list[str], against: str | None) -> ManifestSet:
    """Read the manifests in the paths.

    If a path exists only at the git revision `against`, it is skipped. Its tenants then count as deleted.
    """
    existing_paths = [
        path
        for path in paths
        if not against or path == STDIN or Path(path).exists() or not sources_at_revision(against, [path])
    ]
    return read_manifests(existing_paths)


def _plans_at(revision: str, file: Path | None, plans: Plans) -> Plans:
    """Read the plans file at the revision. If the revision does not contain the file, return `plans`."""
    text = text_at_revision(revision, file) if file else None
    return plans if text is None else plans_from_text(text)
