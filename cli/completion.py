"""The NAME arguments of commands. The shell completes them with the names of live tenants."""

from typing import Annotated

import typer

from cli.connection import Connection
from cluster.tenants import read_tenants


def tenant_names(context: typer.Context, incomplete: str) -> list[str]:
    """The names of live tenants that start with `incomplete`.

    Returns an empty list on any error. An error message would appear in the command line that the user is
    typing.
    """
    options = context.find_root().params.get
    try:
        connection = Connection.from_options(
            options("kubeconfig"),
            options("cluster_context"),
            options("as_user"),
            options("as_groups"),
            options("as_uid"),
        )
        tenants = read_tenants(connection.cluster)
    except Exception:
        return []
    names = {tenant["metadata"]["name"] for tenant in tenants}
    return sorted(name for name in names if name.startswith(incomplete))


TenantName = Annotated[
    str, typer.Argument(metavar="NAME", help="The name of the tenant.", autocompletion=tenant_names)
]
TenantNames = Annotated[
    list[str], typer.Argument(metavar="NAME", help="The names of the tenants.", autocompletion=tenant_names)
]
