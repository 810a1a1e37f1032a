"""Checks of Pulumi and of the stacks' state: the CLI, its provider, the backend, locks, lost stacks."""

import os
import socket
from importlib.metadata import version
from typing import Final

from cli.connection import Connection
from cli.doctor.finding import Finding, failed, ok, warning
from cluster.tenants import is_deleting, read_tenants
from stacks.command import PulumiProcess
from stacks.errors import Lock, PulumiMissing, StackError, without_secrets
from stacks.lock import is_abandoned
from stacks.provider import installed_provider_version, required_provider_version
from stacks.survey import file_locks, stack_names
from tenancy.base.names import stack_name
from tenancy.base.platform_names import PLATFORM_STACK, SYSTEM_NAMESPACE, WATCHER

BACKEND_VARIABLE: Final = "PULUMI_BACKEND_URL"
_EXEC: Final = f"kubectl -n {SYSTEM_NAMESPACE} exec {WATCHER}-0 -- tenancy doctor"


def check_pulumi(_: Connection) -> list[Finding]:
    wanted = version("pulumi")
    install = f"install Pulumi {wanted} or newer, and put it on PATH"
    try:
        command = PulumiProcess(timeout_s=30)
    except PulumiMissing as error:
        return [failed("pulumi", str(error), install)]
    found = command.version
    major, minor = (int(part) for part in wanted.split(".")[:2])
    if found is None or (found.major, found.minor) < (major, minor):
        return [warning("pulumi", f"is {found}; this version was tested with {wanted}", install)]
    return [ok("pulumi", f"is {found}")]


def check_provider(_: Connection) -> list[Finding]:
    wanted, found = required_provider_version(), installed_provider_version()
    install = f"pulumi plugin install resource kubernetes {wanted}"
    if found is None:
        return [failed("pulumi provider", f"kubernetes {wanted} is not installed", install)]
    if found != wanted:
        told = f"kubernetes on PATH is {found or 'one that does not answer'}, not {wanted}; take it off PATH"
        return [failed("pulumi provider", told, install)]
    return [ok("pulumi provider", f"kubernetes {found}")]


def check_backend(connection: Connection) -> list[Finding]:
    url = os.environ.get(BACKEND_VARIABLE)
    if not url:
        told = f"not checked: {BACKEND_VARIABLE} is not set; set it as the watcher has it, or ask its pod"
        return [warning("backend", told, _EXEC)]
    try:
        names = [name for name in stack_names(url) if name != PLATFORM_STACK]
    except StackError as error:
        fix = f"pulumi login {without_secrets(url)}"
        return [failed("backend", f"{without_secrets(url)}: {error}", fix)]
    answers = ok("backend", f"{without_secrets(url)} answers, with {len(names)} stacks of tenants")
    return [answers, *_lock_findings(url), *_stack_findings(connection, set(names))]


def _lock_findings(url: str) -> list[Finding]:
    locks = file_locks(url)
    if locks is None:
        return [ok("locks", "not looked at: only a file backend shows them")]
    return [_lock_finding(stack, lock) for stack, lock in locks] or [ok("locks", "none is held")]


def _lock_finding(stack: str, lock: Lock) -> Finding:
    holder = f"{stack} is held by {lock.user}@{lock.host} (pid {lock.pid}) since {lock.since.isoformat()}"
    cancel = f"pulumi cancel --yes --stack {stack}"
    if is_abandoned(lock):
        return failed("locks", f"{holder}, which is dead", cancel)
    if lock.host == socket.gethostname():
        return ok("locks", f"{holder}, which is alive")
    return warning("locks", f"{holder}; whether it is alive can't be told from here. If it is not:", cancel)


def _stack_findings(connection: Connection, stacks: set[str]) -> list[Finding]:
    tenants = read_tenants(connection.cluster)
    expected = {stack_name(tenant["metadata"]["name"]) for tenant in tenants}
    built = {
        str(status["stack"])
        for tenant in tenants
        if (status := tenant.get("status") or {}).get("stack") and not is_deleting(tenant)
    }
    orphans = [
        warning(
            "stacks",
            f"{stack} has no tenant in this cluster. Unless another cluster uses this backend:",
            f"pulumi destroy --remove --stack {stack}",
        )
        for stack in sorted(stacks - expected)
    ]
    lost = [
        failed(
            "stacks",
            f"{stack} is not in this backend, but its tenant says it was applied: is this the watcher's "
            "backend? If so, its next update takes the objects over again",
            _EXEC,
        )
        for stack in sorted(built - stacks)
    ]
    return [*orphans, *lost] or [ok("stacks", "every tenant that was applied has its stack, and no other")]
