"""`tenancy doctor`: checks the cluster, the watcher and Pulumi, and prints the results with fixes.

`tenancy crd` prints the CRDs, because the fix for missing CRDs is to apply them.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import typer
import yaml
from rich.text import Text

from cli.connection import Connection
from cli.doctor.caller_rights import check_rights_of_caller, grant_command, missing_rights
from cli.doctor.cluster_networks import check_cluster_networks
from cli.doctor.dedicated_nodes import check_dedicated_nodes
from cli.doctor.finding import CheckResult, Level, failed, skipped
from cli.doctor.installation import (
    admission_policies,
    check_admission,
    check_crds,
    check_rights_of_watcher,
    check_server,
    rights_to_get,
)
from cli.doctor.pulumi_state import check_backend, check_engine, check_provider, check_pulumi
from cli.doctor.waiting_sessions import check_sessions
from cli.doctor.watcher_and_tenants import (
    check_integrations,
    check_leader,
    check_plans,
    check_tenants,
    check_watcher,
)
from cli.output import Format, FormatOption, console, error_console, print_data
from cli.rights.permissions import MissingRight, Right
from cli.rights.reader import READ_CRDS, READ_PLANS
from cluster.errors import ClusterError
from stacks.errors import StackError
from tenancy.base.errors import TenancyError
from tenancy.base.kinds import AISESSION, LEASE, NAMESPACE, NODE, STATEFUL_SET, TENANTS
from tenancy.base.platform_names import SYSTEM_NAMESPACE, WATCHER
from tenancy.platform.watcher_rights import watcher_rbac
from tenancy.spec.crd import crds


class Check(NamedTuple):
    """A check, and the rights that it needs.

    The platform installs roles for users, such as `tenancy-doctor`. If the user lacks a right that none of
    these roles contains, the printed fix creates a ClusterRole with the name `role`.
    """

    run: Callable[[Connection], list[CheckResult]]
    rights: tuple[Right, ...] = ()
    role: str = ""


_LIST_TENANTS: Final = tuple(Right("list", kind) for kind in TENANTS)
_LIST_NAMESPACES: Final = Right("list", NAMESPACE)
_GET_LEASE: Final = Right("get", LEASE, SYSTEM_NAMESPACE, WATCHER)
_CLUSTER_CHECKS: Final[dict[str, Check]] = {
    "your rights": Check(check_rights_of_caller),
    "CRDs": Check(check_crds, (READ_CRDS,)),
    "watcher's rights": Check(check_rights_of_watcher, rights_to_get(watcher_rbac())),
    "admission": Check(check_admission, rights_to_get(admission_policies())),
    "watcher": Check(check_watcher, (*_LIST_TENANTS, Right("get", STATEFUL_SET, SYSTEM_NAMESPACE, WATCHER))),
    "leader": Check(check_leader, (_GET_LEASE,)),
    "plans": Check(check_plans, (READ_PLANS,)),
    "tenants": Check(check_tenants, _LIST_TENANTS),
    "dedicated nodes": Check(check_dedicated_nodes, (_LIST_NAMESPACES, Right("list", NODE), READ_PLANS)),
    "cluster networks": Check(
        check_cluster_networks, (_LIST_NAMESPACES, Right("get", NAMESPACE, name=SYSTEM_NAMESPACE))
    ),
    "sessions": Check(check_sessions, (Right("list", AISESSION),), "aisessions-reader"),
    "integrations": Check(check_integrations, (*_LIST_TENANTS, READ_CRDS)),
}
_LOCAL_CHECKS: Final = {
    "pulumi": Check(check_pulumi),
    "pulumi provider": Check(check_provider),
    "warm engine": Check(check_engine),
}
_BACKEND_CHECK: Final = Check(check_backend, (*_LIST_TENANTS, _GET_LEASE))
_STYLES: Final = {Level.OK: "green", Level.WARNING: "yellow", Level.FAILED: "bold red"}
_NOT_FOUND: Final = 404


def doctor(context: typer.Context, output: FormatOption = Format.TABLE) -> None:
    """Check the cluster, the watcher, Pulumi and all tenants, and print how to fix each problem.

    The command changes nothing. The exit code is 1 if a check fails, or if more than half of the checks
    cannot run, for example because you lack rights. Warnings do not affect the exit code.
    """
    findings: list[CheckResult] = []
    with error_console.status("checking…"):
        for finding in _findings(context.obj):
            findings.append(finding)
            if output is Format.TABLE:
                _print(finding)
    if output is not Format.TABLE:
        print_data([finding.model_dump(by_alias=True, mode="json") for finding in findings], output)
    if any(finding.level is Level.FAILED for finding in findings):
        raise typer.Exit(1)


def print_crds() -> None:
    """Print the CRDs as YAML. Install them with `tenancy crd | kubectl apply --server-side -f -`."""
    console.print(yaml.safe_dump_all(crds(), sort_keys=False).rstrip())


def _findings(connection: Connection) -> Iterator[CheckResult]:
    server = _run("API server", Check(check_server), connection, "kubectl cluster-info")
    yield from server
    has_cluster = server[0].level is Level.OK
    checks = {**(_CLUSTER_CHECKS if has_cluster else {}), **_LOCAL_CHECKS}
    if has_cluster:
        checks["backend"] = _BACKEND_CHECK
    skipped_count = 0
    for subject, check in checks.items():
        results = _run(subject, check, connection)
        skipped_count += any(result.is_skipped for result in results)
        yield from results
    if 2 * skipped_count > len(checks):
        problem = f"{skipped_count} of {len(checks)} checks could not run"
        yield failed("checks", f"{problem}: apply the fixes of these checks, and run the command again")


def _run(subject: str, check: Check, connection: Connection, fix: str = "") -> list[CheckResult]:
    """Run one check, and return its results. If the check raises an error, the result contains the error.

    If the user lacks a right, the fix in the result grants this right. For most other errors, the fix is
    `fix`.
    """
    try:
        return check.run(connection)
    except MissingRight as error:
        return [_skipped(subject, check, connection, error)]
    except ClusterError as error:
        if error.is_forbidden:
            return [_skipped(subject, check, connection, error)]
        if error.status == _NOT_FOUND:
            return [
                failed(subject, "not checked: the cluster does not serve Tenants; install the CRDs first")
            ]
        return [failed(subject, str(error), fix)]
    except (TenancyError, StackError, OSError, ValueError) as error:
        return [failed(subject, str(error), fix)]


def _skipped(subject: str, check: Check, connection: Connection, error: Exception) -> CheckResult:
    """The result of a check that cannot run, because the user lacks rights. The fix grants these rights."""
    missing = missing_rights(connection.cluster, check.rights)
    return skipped(subject, str(error), grant_command(connection.cluster, missing, check.role))


def _print(finding: CheckResult) -> None:
    level = Text(f"{finding.level.value:<8}", style=_STYLES[finding.level])
    console.print(Text.assemble(level, f"{finding.subject}: {finding.message}"))
    if finding.fix:
        console.print(Text.assemble(" " * 8, ("fix: ", "bold"), finding.fix))
