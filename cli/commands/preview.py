"""The `preview` command: reads what is given and what is there, and says what would change."""

from pathlib import Path
from typing import Annotated

import typer

from cli.connection import Connection
from cli.manifests import STDIN, ManifestSet, parsed_manifests, read_sources
from cli.output import error_console
from cli.preview.compare import Comparison
from cli.preview.comparison_base import nothing, read_live, read_revision
from cli.preview.formats.render import OutputFileOption, PreviewFormat, PreviewFormatOption, write_preview
from cli.preview.git_revision import sources_at_revision, text_at_revision
from cli.preview.result import Preview
from tenancy.base.errors import TenancyError
from tenancy.plans import Plans, plans_from_text, read_plans


class NoTenants(TenancyError):
    """A mistyped path must not pass for one where nothing changes."""

    reason = "NoTenants"


def preview(
    context: typer.Context,
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATH", help="Files and folders with Tenant manifests; `-`: standard input."),
    ],
    against: Annotated[
        str | None,
        typer.Option(metavar="REF", help="Compare with this git revision of the paths. Needs no cluster."),
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Compare with nothing, only check. Needs no cluster.")
    ] = False,
    plans: Annotated[
        Path | None,
        typer.Option(help="A plans file. Default: the cluster's; without a cluster, the shipped ones."),
    ] = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="The paths hold all tenants: those not in them are deleted.")
    ] = False,
    form: PreviewFormatOption = PreviewFormat.TABLE,
    output_file: OutputFileOption = None,
) -> None:
    """Preview what Tenant manifests would change, object by object, and what to think about before.

    Reads only: the roles `tenancy-preview` are enough. Exit code 0: nothing changes; 2: something
    does; 1: an error, such as a tenant that would be refused.
    """
    if offline and (against or prune):
        raise typer.BadParameter(
            "--offline compares with nothing, so it goes with neither --against nor --prune"
        )
    with error_console.status("reading…"):
        found = _preview(context.obj, paths, against, offline, plans, prune)
    write_preview(found, form, output_file, place=paths[0] if paths[0] != STDIN else "stdin")
    raise typer.Exit(found.exit_code)


def _preview(
    connection: Connection,
    paths: list[str],
    against: str | None,
    is_offline: bool,
    plans_file: Path | None,
    prune: bool,
) -> Preview:
    given = _given(paths, against)
    if not (given.tenants or given.faults or against or prune):
        raise NoTenants("there is no Tenant in what was given: is the path right?")
    if against or is_offline:
        plans = read_plans(plans_file) if plans_file else read_plans()
        base = read_revision(against, paths, _plans_at(against, plans_file, plans)) if against else nothing()
    else:
        plans, base = connection.plans(plans_file), read_live(connection)
    return Comparison(plans, base).preview(given, is_complete=prune or bool(against))


def _given(paths: list[str], against: str | None) -> ManifestSet:
    """What is gone by now, and was there at the revision, is no mistake: all its tenants were removed."""
    there = [
        path
        for path in paths
        if not against or path == STDIN or Path(path).exists() or not sources_at_revision(against, [path])
    ]
    return parsed_manifests(read_sources(there))


def _plans_at(revision: str, file: Path | None, plans: Plans) -> Plans:
    """The plans as they stood, where they are kept with the manifests; else those of today."""
    text = text_at_revision(revision, file) if file else None
    return plans if text is None else plans_from_text(text)
