"""Uses SelfSubjectAccessReviews to check whether the user has the permissions that the commands need."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from cli.connection import Connection
from cli.doctor.finding import CheckResult, ok, warning
from cli.rights.grants import bindings_for, current_user, new_role_commands
from cli.rights.permissions import Right, is_allowed, rights_text
from cli.rights.reader import READ_PLANS
from cluster.client import Cluster
from tenancy.base.kinds import AISESSION, CONFIG_MAP, CRD, EVENT, MANAGED_KINDS, POD, TENANTS, Kind

_POD_LOG: Final = Kind(POD.api_version, POD.kind, f"{POD.plural}/log")
_COMPARED_KINDS: Final = tuple(kind for kind in MANAGED_KINDS if kind != CONFIG_MAP)


class _Need(NamedTuple):
    """Commands, and the rights that these commands need.

    The platform installs roles for users, such as `tenancy-preview`. If the user lacks a right that none of
    these roles contains, the printed fix creates a ClusterRole with the name `role`.
    """

    commands: str
    rights: Sequence[Right]
    role: str = ""


def _rights(verbs: Sequence[str], kinds: Sequence[Kind]) -> list[Right]:
    return [Right(verb, kind) for kind in kinds for verb in verbs]


_NEEDS: Final = (
    _Need("list, show, diff, preview", _rights(("get", "list"), TENANTS)),
    _Need("list, show, diff, preview", _rights(("list",), _COMPARED_KINDS)),
    _Need("diff and preview of ConfigMaps", _rights(("list",), (CONFIG_MAP,)), "configmaps-reader"),
    _Need("show, diff, preview", [READ_PLANS]),
    _Need("commands that read objects of integrations", _rights(("get",), (CRD,))),
    _Need(
        "apply, pause, resume, cordon, uncordon, rollback",
        _rights(("create", "patch", "watch"), TENANTS),
        "tenants-writer",
    ),
    _Need("delete", _rights(("delete",), TENANTS), "tenants-deleter"),
    _Need("sessions, show", _rights(("get", "list"), (AISESSION,)), "aisessions-reader"),
    _Need("sessions cancel", _rights(("delete",), (AISESSION,)), "aisessions-canceler"),
    _Need("show, sessions show", _rights(("list",), (EVENT,)), "events-reader"),
    _Need("sessions logs", _rights(("list",), (POD,)), "pods-reader"),
    _Need("sessions logs", _rights(("get",), (_POD_LOG,)), "pod-logs-reader"),
)


def check_rights_of_caller(connection: Connection) -> list[CheckResult]:
    findings = []
    for need in _NEEDS:
        missing = missing_rights(connection.cluster, need.rights)
        if missing:
            message = f"missing permissions: {rights_text(missing)} (needed for {need.commands})"
            fix = grant_command(connection.cluster, missing, need.role)
            findings.append(warning("your rights", message, fix))
    return findings or [ok("your rights", "sufficient for all commands")]


def missing_rights(cluster: Cluster, rights: Sequence[Right]) -> list[Right]:
    return [right for right in rights if not is_allowed(cluster, right)]


def grant_command(cluster: Cluster, missing: Sequence[Right], role: str) -> str:
    """The shell command with which an administrator grants the missing rights to the user.

    If no role of the platform contains a right, the command creates a ClusterRole with the name `role`.
    """
    user = current_user(cluster)
    bindings, others = bindings_for(user, missing)
    return " && ".join([*bindings, *(new_role_commands(user, role, others) if others else ())])
