"""`tenancy prove`: sends requests that would break tenant isolation, and checks that they are rejected."""

from typing import Annotated, Final

import typer
from rich.text import Text

from cli.completion import TenantNames
from cli.connection import Connection
from cli.doctor.caller_rights import grant_command, missing_rights
from cli.doctor.installation import rights_to_get
from cli.output import error_console
from cli.prove.facts import ClusterFacts
from cli.prove.formats import ProofFormat, print_reports
from cli.prove.reports import served_reports, write_reports
from cli.prove.run import run_checks
from cli.rights.permissions import Right
from cli.rights.reader import READ_CRDS, READ_PLANS
from cli.selection.tenants import selected_tenants
from cluster.attempts import Attempts
from cluster.connection.impersonation import NO_IMPERSONATION
from cluster.errors import ClusterError
from cluster.tenants import read_tenants
from tenancy.base.errors import TenancyError
from tenancy.base.kinds import MANAGED_KINDS, SERVICE_ACCOUNT, TENANTS, Kind
from tenancy.base.manifest import is_deleting
from tenancy.isolation.comparison import shipped_policies
from tenancy.same_name_in_both_groups import is_duplicate

# The rights that the command needs. If no role of the platform contains a missing right, an administrator can
# create a ClusterRole for it. The key is the name of this ClusterRole.
_RIGHTS: Final = {
    "tenancy-prove": [
        Right("impersonate", kind)
        for kind in (
            Kind("v1", "User", "users", False),
            Kind("v1", "Group", "groups", False),
            SERVICE_ACCOUNT,
        )
    ],
    "tenancy-prove-reader": [
        *rights_to_get(shipped_policies()),
        *(Right("list", kind) for kind in (*TENANTS, *MANAGED_KINDS)),
        READ_PLANS,
        READ_CRDS,
    ],
}


class ProofImpossible(TenancyError):
    reason = "ProofImpossible"


def prove(
    context: typer.Context,
    names: TenantNames = None,
    writer: Annotated[
        str,
        typer.Option(
            metavar="USER",
            help="Also send requests as this user. The user must have the right to write Tenants, and no "
            "other rights. Without this option, the command skips these requests.",
        ),
    ] = "",
    output: Annotated[
        ProofFormat,
        typer.Option(
            "--output",
            "-o",
            help="The output format: a table, JSON, SARIF for code scanning, or JUnit for test reports.",
        ),
    ] = ProofFormat.TABLE,
    has_report: Annotated[
        bool,
        typer.Option(
            "--report",
            help="Also write the results to a ClusterReport (openreports.io) or a ClusterPolicyReport "
            "(wgpolicyk8s.io) in the cluster.",
        ),
    ] = False,
) -> None:
    """Try to break the isolation of tenants, and show which protection rejects each attempt.

    The command impersonates an admin, an operator and a viewer of each tenant, and sends about 120 requests.
    All requests are dry runs, reads or access reviews. The command also compares the admission policies and
    the objects of the tenant with their desired state. Without a name, the command checks all tenants. The
    command writes objects to the cluster only with `--report`.

    The exit code is 1 if a check fails. Skipped checks do not affect the exit code. You need the right to
    impersonate users, groups and service accounts.
    """
    connection: Connection = context.obj
    if connection.impersonation != NO_IMPERSONATION:
        raise ProofImpossible("--as cannot be combined with prove, because prove impersonates other users")
    facts, attempts = ClusterFacts(connection), Attempts(connection.transport)
    reports = []
    try:
        report_kinds = served_reports(connection) if has_report else []
        tenants = selected_tenants(connection, names, "") if names else read_tenants(connection.cluster)
        for tenant in tenants:
            if names or not (is_deleting(tenant) or is_duplicate(tenant, {})):
                with error_console.status(f"checking {tenant['metadata']['name']}…"):
                    reports.append(run_checks(facts, attempts, tenant, writer))
    except ClusterError as error:
        if not error.is_forbidden:
            raise
        raise ProofImpossible(f"{error}; ask an administrator to run: {_grants(connection)}") from None
    print_reports(reports, output)
    for name in write_reports(connection, report_kinds, reports):
        error_console.print(Text(f"wrote {name}"))
    if not all(report.is_proved for report in reports):
        raise typer.Exit(1)


def _grants(connection: Connection) -> str:
    """The shell command with which an administrator grants the missing rights to the user."""
    missing = {role: missing_rights(connection.cluster, rights) for role, rights in _RIGHTS.items()}
    commands = [grant_command(connection.cluster, rights, role) for role, rights in missing.items() if rights]
    return " && ".join(commands)
