"""Uses SelfSubjectAccessReviews to check whether the user has the permissions that the commands need."""

from typing import Final

from cli.connection import Connection
from cli.doctor.finding import CheckResult, ok, warning
from cli.permissions import is_allowed
from tenancy.base.kinds import AISESSION, CONFIG_MAP, CRD, EVENT, MANAGED_KINDS, POD, TENANTS, Kind
from tenancy.base.platform_names import PLANS_CONFIG_MAP, SYSTEM_NAMESPACE

_POD_LOG: Final = Kind(POD.api_version, POD.kind, f"{POD.plural}/log")
# Each entry has commands, the verbs that these commands need, and the kinds to which the verbs apply.
_NEEDS: Final[tuple[tuple[str, tuple[str, ...], tuple[Kind, ...]], ...]] = (
    ("list, show, apply, delete", ("get", "list", "watch"), TENANTS),
    ("show, diff, preview", ("list",), MANAGED_KINDS),
    ("apply, pause, resume, cordon, uncordon, rollback", ("create", "patch"), TENANTS),
    ("delete", ("delete",), TENANTS),
    ("commands that read objects of integrations", ("get",), (CRD,)),
    ("sessions, show", ("get", "list"), (AISESSION,)),
    ("sessions cancel", ("delete",), (AISESSION,)),
    ("show, sessions show", ("list",), (EVENT,)),
    ("sessions logs", ("list",), (POD,)),
    ("sessions logs", ("get",), (_POD_LOG,)),
)


def check_rights_of_caller(connection: Connection) -> list[CheckResult]:
    findings = []
    for commands, verbs, kinds in _NEEDS:
        missing = [
            f"{verb} {kind.plural}{'.' + kind.group if kind.group else ''}"
            for kind in kinds
            for verb in verbs
            if not is_allowed(connection.cluster, verb, kind)
        ]
        if missing:
            fix = f"kubectl auth can-i {missing[0]} --all-namespaces"
            findings.append(
                warning(
                    "your rights", f"missing permissions: {', '.join(missing)} (needed for {commands})", fix
                )
            )
    if not is_allowed(connection.cluster, "get", CONFIG_MAP, SYSTEM_NAMESPACE, PLANS_CONFIG_MAP):
        fix = f"kubectl -n {SYSTEM_NAMESPACE} auth can-i get configmap/{PLANS_CONFIG_MAP}"
        message = (
            f"missing permissions: get configmap {SYSTEM_NAMESPACE}/{PLANS_CONFIG_MAP} (needed to read the "
            "plans in force)"
        )
        findings.append(warning("your rights", message, fix))
    return findings or [ok("your rights", "sufficient for all commands")]
