"""Checks the Pulumi CLI, the Kubernetes provider, the warm engine and the state backend.

The warm engine is the program `tenancy-engine`, which runs updates faster than the Pulumi CLI. In the state
backend, the module checks the locks and the stacks.
"""

import os
import socket
from importlib.metadata import version
from typing import Final

from cli.connection import Connection
from cli.doctor.finding import CheckResult, failed, ok, skipped, warning
from cluster.tenants import read_tenants
from stacks.backend import is_passphrase_backend
from stacks.command import PulumiProcess
from stacks.engine.binary import NO_PULUMI_CLOUD, installed_version
from stacks.errors import EngineUnavailable, Lock, PulumiMissing, StackError, without_secrets
from stacks.operation import EngineName
from stacks.ownership.lock import is_abandoned
from stacks.provider import installed_provider_version, required_provider_version
from stacks.survey import file_locks, stack_names
from tenancy.base.kinds import LEASE
from tenancy.base.manifest import is_deleting
from tenancy.base.names import stack_name
from tenancy.base.platform_names import CLUSTER_STACK, PLATFORM_STACK, SYSTEM_NAMESPACE, WATCHER
from tenancy.leaders import Leadership, leadership_of

BACKEND_VARIABLE: Final = "PULUMI_BACKEND_URL"
ENGINE_VARIABLE: Final = "TENANCY_ENGINE"
_DOCTOR_IN_POD: Final = f"kubectl -n {SYSTEM_NAMESPACE} exec {WATCHER}-0 -- tenancy doctor"


def check_pulumi(_: Connection) -> list[CheckResult]:
    tested_version = version("pulumi")
    install = f"install Pulumi {tested_version} or newer, and put it on PATH"
    try:
        installed = PulumiProcess.installed_version()
    except PulumiMissing as error:
        return [failed("pulumi", str(error), install)]
    if _minor_version(installed) < _minor_version(tested_version):
        message = f"version {installed} is installed, but tenancy is tested with {tested_version}"
        return [warning("pulumi", message, install)]
    return [ok("pulumi", f"version {installed}")]


def _minor_version(text: str) -> tuple[int, int]:
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


def check_provider(_: Connection) -> list[CheckResult]:
    required, installed = required_provider_version(), installed_provider_version()
    install = f"pulumi plugin install resource kubernetes {required}"
    if installed is None:
        return [failed("pulumi provider", f"kubernetes {required} is not installed", install)]
    if installed != required:
        problem = f"has version {installed}" if installed else "does not answer"
        message = f"kubernetes on PATH {problem}, but {required} is required: remove this provider from PATH"
        return [failed("pulumi provider", message, install)]
    return [ok("pulumi provider", f"kubernetes {installed}")]


def check_engine(_: Connection) -> list[CheckResult]:
    selected = os.environ.get(ENGINE_VARIABLE) or EngineName.WARM
    if selected != EngineName.WARM:
        return [ok("warm engine", f"not used, because {ENGINE_VARIABLE} is {selected}")]
    if not is_passphrase_backend(os.environ.get(BACKEND_VARIABLE, "")):
        message = f"{NO_PULUMI_CLOUD}. The watcher uses the Pulumi CLI, which is slower"
        return [
            warning("warm engine", message, f"set {ENGINE_VARIABLE}={EngineName.CLI}, or use another backend")
        ]
    try:
        return [ok("warm engine", f"version {installed_version()}")]
    except EngineUnavailable as error:
        if not os.environ.get(BACKEND_VARIABLE):
            message = f"{error}. This is correct if the watcher runs on another machine"
            return [ok("warm engine", message)]
        message = f"{error}. The watcher uses the Pulumi CLI, which is slower"
        return [
            warning("warm engine", message, "use the image of this version, or put tenancy-engine on PATH")
        ]


def check_backend(connection: Connection) -> list[CheckResult]:
    url = os.environ.get(BACKEND_VARIABLE)
    if not url:
        message = (
            f"{BACKEND_VARIABLE} is not set. Set it to the watcher's value, or run this command in the "
            "watcher's pod"
        )
        return [skipped("backend", message, _DOCTOR_IN_POD)]
    try:
        names = [name for name in stack_names(url) if name not in (PLATFORM_STACK, CLUSTER_STACK)]
    except StackError as error:
        fix = f"pulumi login {without_secrets(url)}"
        return [failed("backend", f"{without_secrets(url)}: {error}", fix)]
    reachable = ok("backend", f"{without_secrets(url)} is reachable, with {len(names)} stacks of tenants")
    with connection.stacks():
        pass  # Raises OtherCluster if the backend belongs to another cluster.
    return [reachable, *_lock_findings(connection, url), *_stack_findings(connection, set(names))]


def _lock_findings(connection: Connection, url: str) -> list[CheckResult]:
    locks = file_locks(url)
    if locks is None:
        return [ok("locks", "not checked: locks can be listed only in a file backend")]
    leadership = leadership_of(connection.cluster.get(LEASE, WATCHER, SYSTEM_NAMESPACE))
    findings = [_lock_finding(stack, lock, leadership) for stack, lock in locks]
    return findings or [ok("locks", "no stack is locked")]


def _lock_finding(stack: str, lock: Lock, leadership: Leadership) -> CheckResult:
    holder = f"{stack} is locked by {lock.user}@{lock.host} (pid {lock.pid}) since {lock.since.isoformat()}"
    cancel = f"pulumi cancel --yes --stack {stack}"
    leader = leadership.holder(lock.host, lock.since)
    if leader and leader.id != leadership.current and is_abandoned(lock, leadership):
        message = f"{holder}, by the watcher {leader.id}, which no longer leads. The leader clears the lock"
        return ok("locks", f"{message} with its next update of the tenant")
    if is_abandoned(lock, leadership):
        return failed("locks", f"{holder}, but that process no longer runs", cancel)
    if lock.host == socket.gethostname():
        return ok("locks", f"{holder}, and that process is running")
    message = f"{holder}. That is another host. Remove the lock only if that process no longer runs"
    return warning("locks", message, cancel)


def _stack_findings(connection: Connection, stacks: set[str]) -> list[CheckResult]:
    tenants = read_tenants(connection.cluster)
    expected = {stack_name(tenant["metadata"]["name"]) for tenant in tenants}
    applied = {
        str(status["stack"])
        for tenant in tenants
        if (status := tenant.get("status") or {}).get("stack") and not is_deleting(tenant)
    }
    orphans = [
        warning(
            "stacks",
            f"{stack} has no Tenant in this cluster. If no other cluster uses this backend, destroy {stack}",
            f"pulumi destroy --remove --stack {stack}",
        )
        for stack in sorted(stacks - expected)
    ]
    lost = [
        failed(
            "stacks",
            f"{stack} is not in this backend, but the watcher has applied its Tenant. Check whether the "
            "watcher uses this backend. If it does, its next update creates a new stack with the existing "
            "objects",
            _DOCTOR_IN_POD,
        )
        for stack in sorted(applied - stacks)
    ]
    return [*orphans, *lost] or [
        ok("stacks", "every applied tenant has a stack, and every stack has a tenant")
    ]
