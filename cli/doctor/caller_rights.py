"""Checks what the caller may do, by asking the API server: each command of `tenancy` needs some rights."""

from typing import Final

from cli.connection import Connection
from cli.doctor.finding import Finding, ok, warning
from cluster.client import Cluster
from tenancy.base.kinds import CONFIG_MAP, CRD, MANAGED_KINDS, TENANTS, Kind
from tenancy.base.platform_names import PLANS_CONFIG_MAP, SYSTEM_NAMESPACE

_REVIEW: Final = Kind("authorization.k8s.io/v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", False)
# What for, the verbs, the kinds.
_NEEDS: Final[tuple[tuple[str, tuple[str, ...], tuple[Kind, ...]], ...]] = (
    ("list, show, apply's wait", ("get", "list", "watch"), TENANTS),
    ("show, diff, preview", ("list",), MANAGED_KINDS),
    ("apply, pause, rollback", ("create", "patch"), TENANTS),
    ("integrations", ("get",), (CRD,)),
)


def check_rights_of_caller(connection: Connection) -> list[Finding]:
    found = []
    for purpose, verbs, kinds in _NEEDS:
        lacking = [
            f"{verb} {kind.plural}{'.' + kind.group if kind.group else ''}"
            for kind in kinds
            for verb in verbs
            if not _may(connection.cluster, verb, kind)
        ]
        if lacking:
            fix = f"kubectl auth can-i {lacking[0]} --all-namespaces"
            found.append(warning("your rights", f"for {purpose} you lack: {', '.join(lacking)}", fix))
    if not _may(connection.cluster, "get", CONFIG_MAP, SYSTEM_NAMESPACE, PLANS_CONFIG_MAP):
        fix = f"kubectl -n {SYSTEM_NAMESPACE} auth can-i get configmap/{PLANS_CONFIG_MAP}"
        found.append(warning("your rights", "you may not read the plans in force", fix))
    return found or [ok("your rights", "enough for every command")]


def _may(cluster: Cluster, verb: str, kind: Kind, namespace: str = "", name: str = "") -> bool:
    attributes = {
        "verb": verb,
        "group": kind.group,
        "resource": kind.plural,
        "namespace": namespace,
        "name": name,
    }
    review = {
        "apiVersion": _REVIEW.api_version,
        "kind": _REVIEW.kind,
        "metadata": {},
        "spec": {"resourceAttributes": attributes},
    }
    return bool(cluster.create(_REVIEW, review)["status"]["allowed"])
