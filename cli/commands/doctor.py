"""`tenancy doctor`: runs all checks, and prints their results."""

from collections.abc import Callable, Iterator
from typing import Final

import typer
from rich.text import Text

from cli.connection import Connection
from cli.doctor.caller_rights import check_rights_of_caller
from cli.doctor.finding import CheckResult, Level, failed, warning
from cli.doctor.installation import check_admission, check_crds, check_rights_of_watcher, check_server
from cli.doctor.pulumi_state import check_backend, check_provider, check_pulumi
from cli.doctor.waiting_sessions import check_sessions
from cli.doctor.watcher_and_tenants import check_integrations, check_plans, check_tenants, check_watcher
from cli.output import Format, FormatOption, console, error_console, print_data
from cluster.errors import ClusterError
from stacks.errors import StackError
from tenancy.base.errors import TenancyError

Check = Callable[[Connection], list[CheckResult]]

_CLUSTER_CHECKS: Final[dict[str, Check]] = {
    "your rights": check_rights_of_caller,
    "CRDs": check_crds,
    "watcher's rights": check_rights_of_watcher,
    "admission": check_admission,
    "watcher": check_watcher,
    "plans": check_plans,
    "tenants": check_tenants,
    "sessions": check_sessions,
    "integrations": check_integrations,
}
_LOCAL_CHECKS: Final[dict[str, Check]] = {"pulumi": check_pulumi, "pulumi provider": check_provider}
_STYLES: Final = {Level.OK: "green", Level.WARNING: "yellow", Level.FAILED: "bold red"}
_NOT_FOUND: Final = 404


def doctor(context: typer.Context, output: FormatOption = Format.TABLE) -> None:
    """Check the cluster, the watcher, Pulumi and all tenants, and print a fix for each problem.

    The command changes nothing. The exit code is 1 if a check fails. Warnings do not affect the exit code.
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


def _findings(connection: Connection) -> Iterator[CheckResult]:
    server = _run("API server", check_server, connection, "kubectl cluster-info")
    yield from server
    has_cluster = server[0].level is Level.OK
    for subject, check in _CLUSTER_CHECKS.items() if has_cluster else ():
        yield from _run(subject, check, connection)
    for subject, check in _LOCAL_CHECKS.items():
        yield from _run(subject, check, connection)
    if has_cluster:
        yield from _run("backend", check_backend, connection)


def _run(subject: str, check: Check, connection: Connection, fix: str = "") -> list[CheckResult]:
    """The results of one check. If the check raises an error, the error is the result."""
    try:
        return check(connection)
    except ClusterError as error:
        if error.is_forbidden:
            return [warning(subject, f"not checked: {error}")]
        if error.status == _NOT_FOUND:
            return [
                failed(subject, "not checked: the cluster does not serve Tenants; install the CRDs first")
            ]
        return [failed(subject, str(error), fix)]
    except (TenancyError, StackError, OSError, ValueError) as error:
        return [failed(subject, str(error), fix)]


def _print(finding: CheckResult) -> None:
    level = Text(f"{finding.level.value:<8}", style=_STYLES[finding.level])
    console.print(Text.assemble(level, f"{finding.subject}: {finding.message}"))
    if finding.fix:
        console.print(Text.assemble(" " * 8, ("fix: ", "bold"), finding.fix))
