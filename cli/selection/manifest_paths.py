"""The paths of manifests that the user gives: as arguments, or with the option -f, as in kubectl."""

from typing import Annotated

import typer

PathsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PATH",
        help="Files or folders with Tenant manifests. `-` means standard input.",
    ),
]
FilesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--filename",
        "-f",
        metavar="PATH",
        help="A file or folder with Tenant manifests, as in kubectl. `-` means standard input. Repeat the "
        "option for several paths.",
    ),
]


def given_paths(paths: list[str] | None, files: list[str] | None) -> list[str]:
    """All paths that the user gave. Raises BadParameter if the user gave no path."""
    all_paths = [*(paths or ()), *(files or ())]
    if not all_paths:
        raise typer.BadParameter("give at least one file or folder, for example `-f tenants/`")
    return all_paths
