"""Finds the live Tenants that a user selects by name or by label selector."""

from collections.abc import Sequence

import typer

from cli.connection import Connection, no_such_tenant
from cli.output import error_console
from cluster.tenants import read_tenants
from tenancy.base.errors import TenancyError
from tenancy.base.kinds import TENANTS, Kind
from tenancy.base.manifest import Manifest
from tenancy.same_name_in_both_groups import precedence


class UnknownResource(TenancyError):
    """In a full name, the part before the slash is not the resource of a Tenant.

    A valid full name is `tenants.platform.ai/research`.
    """

    reason = "UnknownResource"


def selected_tenants(connection: Connection, names: Sequence[str] | None, selector: str) -> list[Manifest]:
    """The live Tenants with these names, or the live Tenants that match the label selector.

    If a name exists in both API groups, the result contains only the older Tenant. Raises NoSuchTenant if
    there is no Tenant with one of the names. Raises BadParameter if the caller gives neither names nor a
    selector, or both.
    """
    check_selection(names, selector)
    if selector:
        return matching_tenants(connection, selector)
    return [_first(tenants_named(connection, name), name) for name in names or ()]


def matching_tenants(connection: Connection, selector: str) -> list[Manifest]:
    """The live Tenants that match the label selector.

    If no Tenant matches, prints a note to standard error.
    """
    tenants = read_tenants(connection.cluster, selector)
    if not tenants:
        error_console.print("No tenants match.")
    return tenants


def check_selection(names: Sequence[str] | None, selector: str) -> None:
    """Raise BadParameter if the user gives neither names nor a selector, or both."""
    if not names and not selector:
        raise typer.BadParameter("give the name of a tenant, or a label selector with -l")
    check_not_both(names, selector)


def check_not_both(names: Sequence[str] | None, selector: str) -> None:
    """Raise BadParameter if the user gives both names and a selector."""
    if names and selector:
        raise typer.BadParameter("names and -l cannot be combined")


def tenants_named(connection: Connection, text: str) -> list[Manifest]:
    """The live Tenants with this name or full name: at most one per API group, the older one first."""
    tenants = [
        tenant for kind, name in resources_named(text) if (tenant := connection.cluster.get(kind, name))
    ]
    return sorted(tenants, key=precedence)


def resources_named(text: str) -> list[tuple[Kind, str]]:
    """The kinds and names of the Tenants that `text` can refer to.

    `text` is a name, or a full name such as `tenant.platform.ai/research`, as `tenancy list -o name` prints
    it. For a name, the result has one item for each of the two API groups. Raises UnknownResource if the part
    before the slash is not the resource of a Tenant.
    """
    resource, slash, name = text.rpartition("/")
    kinds = [kind for kind in TENANTS if not slash or resource in (kind.crd, _singular(kind))]
    if not kinds:
        known = " or ".join(_singular(kind) for kind in TENANTS)
        raise UnknownResource(f"{text!r}: the part before the slash must be {known}")
    return [(kind, name) for kind in kinds]


def short_name(text: str) -> str:
    """The short name of a Tenant, such as `research`. `text` is the short name or the full name.

    Raises UnknownResource if the part before the slash in the full name is not the resource of a Tenant.
    """
    return resources_named(text)[0][1]


def resource_and_name(api_version: str, name: str) -> str:
    """The resource and the name of a Tenant, such as `tenant.platform.ai/research`.

    This is the format of `kubectl get -o name`.
    """
    return f"{_singular(next(kind for kind in TENANTS if kind.api_version == api_version))}/{name}"


def _first(tenants: list[Manifest], name: str) -> Manifest:
    if not tenants:
        raise no_such_tenant(name)
    return tenants[0]


def _singular(kind: Kind) -> str:
    return f"{kind.kind.lower()}.{kind.group}"
