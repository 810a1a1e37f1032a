"""The NAME arguments and the option `-l` that several commands have.

The shell completes NAME with the names of live tenants.
"""

from typing import Annotated

import typer

from cli.connection import Connection


def tenant_names(context: typer.Context, incomplete: str) -> list[str]:
    """The names of live tenants that start with `incomplete`.

    Returns an empty list on any error. An error message would appear in the command line that the user is
    typing.
    """
    try:
        names = Connection.from_options(**context.find_root().params).tenant_names()
    except Exception:
        return []
    return sorted(name for name in names if name.startswith(incomplete))


TenantName = Annotated[
    str, typer.Argument(metavar="NAME", help="The name of the tenant.", autocompletion=tenant_names)
]
OptionalTenantName = Annotated[
    str | None, typer.Argument(metavar="NAME", help="The name of the tenant.", autocompletion=tenant_names)
]
TenantNames = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NAME",
        help="The names of the tenants, or full names such as `tenant.platform.ai/research`.",
        autocompletion=tenant_names,
    ),
]
SelectorOption = Annotated[
    str,
    typer.Option(
        "--selector",
        "-l",
        metavar="SELECTOR",
        help="Select tenants by label, as in kubectl. Examples: `team=research`, `env in (dev, test)`.",
    ),
]
