"""The NAME arguments, and how a shell completes them: with the names of the tenants that there are."""

from typing import Annotated

import typer

from cli.connection import Connection
from cluster.tenants import read_tenants


def tenant_names(context: typer.Context, incomplete: str) -> list[str]:
    """The tenants whose names begin like this. A shell in the middle of a line is told no errors."""
    given = context.find_root().params
    try:
        connection = Connection(given.get("kubeconfig"), given.get("cluster_context"))
        tenants = read_tenants(connection.cluster)
    except Exception:
        return []
    names = {tenant["metadata"]["name"] for tenant in tenants}
    return sorted(name for name in names if name.startswith(incomplete))


TenantName = Annotated[
    str, typer.Argument(metavar="NAME", help="The tenant's name.", autocompletion=tenant_names)
]
TenantNames = Annotated[
    list[str], typer.Argument(metavar="NAME", help="The tenants' names.", autocompletion=tenant_names)
]
