"""Checks the watcher, the plans, the tenants and their integrations."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from cli.connection import Connection
from cli.doctor.blocked_deletions import blocked_findings
from cli.doctor.finding import CheckResult, failed, ok, warning
from cli.wait import is_status_current, phase_of, ready_condition, reason_text
from cluster.client import Cluster
from cluster.tenants import read_tenants
from tenancy.base.errors import PlansError
from tenancy.base.kinds import CONFIG_MAP, DEPLOYMENT, INTEGRATION_KINDS, LEASE, STATEFUL_SET, Kind
from tenancy.base.manifest import Manifest, is_deleting
from tenancy.base.platform_names import PLANS_CONFIG_MAP, SYSTEM_NAMESPACE, WATCHER, WATCHER_POD
from tenancy.base.reasons import Reason
from tenancy.leaders import leadership_of
from tenancy.same_name_in_both_groups import full_name, is_duplicate
from tenancy.spec.tenant_status import ConditionType, Phase, condition

# A healthy watcher needs less time than this to observe a new spec, or to finish a deletion.
_MAX_DELAY_S: Final = 60.0
# The clocks of this machine and of the watcher's host may differ by this time.
_MAX_CLOCK_DIFFERENCE_S: Final = 30.0
# A Deployment of the watcher has no volume.
_NO_VOLUME: Final = (
    "the usage records are in the pod of the watcher that leads, and are lost with this pod. If you need "
    "reports of past usage, export them regularly"
)
_EXPORT_USAGE: Final = f"kubectl -n {SYSTEM_NAMESPACE} exec POD -- tenancy usage --since 30d -o csv"


def check_watcher(connection: Connection) -> list[CheckResult]:
    unobserved = unobserved_tenants(read_tenants(connection.cluster))
    restart = "python -m watcher"
    findings = []
    for kind, workload in _workloads(connection.cluster):
        findings.append(_workload_finding(kind, workload))
        if kind is DEPLOYMENT:
            findings.append(warning("usage", _NO_VOLUME, _EXPORT_USAGE))
        restart = f"kubectl -n {SYSTEM_NAMESPACE} rollout restart {kind.kind.lower()} {WATCHER}"
    if not findings:
        message = (
            f"there is no StatefulSet or Deployment {SYSTEM_NAMESPACE}/{WATCHER}. This is correct only if "
            "the watcher runs outside the cluster"
        )
        findings.append(ok("watcher", message))
    if unobserved:
        message = (
            f"has not observed the newest spec of {', '.join(unobserved)} for more than {_MAX_DELAY_S:g} s: "
            "the watcher does not run, or hangs"
        )
        findings.append(failed("watcher", message, restart))
    return findings


def _workloads(cluster: Cluster) -> list[tuple[Kind, Manifest]]:
    """The StatefulSet or the Deployment of the watcher. Empty if the watcher runs outside the cluster."""
    kinds = (STATEFUL_SET, DEPLOYMENT)
    workloads = [(kind, cluster.get(kind, WATCHER, SYSTEM_NAMESPACE)) for kind in kinds]
    return [(kind, workload) for kind, workload in workloads if workload is not None]


def _workload_finding(kind: Kind, workload: Manifest) -> CheckResult:
    name = f"{kind.kind} {SYSTEM_NAMESPACE}/{WATCHER}"
    if not (workload.get("status") or {}).get("readyReplicas"):
        fix = f"kubectl -n {SYSTEM_NAMESPACE} logs {WATCHER_POD}"
        return failed("watcher", f"{name} is not ready", fix)
    return ok("watcher", f"{name} is ready")


def check_leader(connection: Connection) -> list[CheckResult]:
    return [leader_finding(connection.cluster.get(LEASE, WATCHER, SYSTEM_NAMESPACE))]


def leader_finding(lease: Manifest | None) -> CheckResult:
    """The leader among the watchers. Only the leader reconciles tenants."""
    logs = f"kubectl -n {SYSTEM_NAMESPACE} logs -l app.kubernetes.io/name={WATCHER} --prefix"
    leader = leadership_of(lease).current
    if lease is None or not leader:
        return failed("leader", "no watcher leads, so no tenant is reconciled", logs)
    spec = lease["spec"]
    age_s = _age_s(spec["renewTime"])
    if age_s > spec["leaseDurationSeconds"] + _MAX_CLOCK_DIFFERENCE_S:
        message = f"{leader} has not renewed its Lease for {age_s:.0f} s, and no other watcher has taken over"
        return failed("leader", message, logs)
    return ok("leader", f"{leader} leads since {spec['acquireTime']}")


def unobserved_tenants(tenants: Iterable[Manifest]) -> list[str]:
    """The names of tenants whose newest spec the watcher has not observed.

    If the newest spec is less than `_MAX_DELAY_S` seconds old, the tenant is not in the list.
    """
    return [
        tenant["metadata"]["name"]
        for tenant in tenants
        if not is_status_current(tenant) and _age_s(_written_at(tenant)) > _MAX_DELAY_S
    ]


def check_plans(connection: Connection) -> list[CheckResult]:
    config_map = f"{SYSTEM_NAMESPACE}/{PLANS_CONFIG_MAP}"
    is_shipped = connection.cluster.get(CONFIG_MAP, PLANS_CONFIG_MAP, SYSTEM_NAMESPACE) is None
    try:
        names = ", ".join(sorted(connection.plans().plans))
    except PlansError as error:
        fix = f"kubectl -n {SYSTEM_NAMESPACE} edit configmap {PLANS_CONFIG_MAP}"
        return [failed("plans", f"ConfigMap {config_map}: {error}", fix)]
    source = (
        f"the shipped plans: there is no ConfigMap {config_map}"
        if is_shipped
        else f"from ConfigMap {config_map}"
    )
    return [ok("plans", f"{names} ({source})")]


def check_tenants(connection: Connection) -> list[CheckResult]:
    tenants = read_tenants(connection.cluster)
    findings = [finding for tenant in tenants for finding in tenant_findings(tenant)]
    for tenant in tenants:
        if ready_condition(tenant).get("reason") == Reason.DELETION_BLOCKED:
            findings += blocked_findings(connection.cluster, _subject(tenant), tenant)
    healthy = len(tenants) - len({finding.subject for finding in findings})
    return [ok("tenants", f"{len(tenants)} in total, {healthy} without problems"), *findings]


def check_integrations(connection: Connection) -> list[CheckResult]:
    served = [
        f"{name} ({len(served_kinds)} of {len(kinds)} CRDs)"
        for name, kinds in INTEGRATION_KINDS.items()
        if (served_kinds := connection.served & set(kinds))
    ]
    findings = [ok("integrations", f"installed: {', '.join(served) or 'none'}")]
    for tenant in read_tenants(connection.cluster):
        integrations = condition(tenant, ConditionType.INTEGRATIONS_READY)
        if integrations.get("reason") == "CRDsMissing":
            message = f"{integrations['message']}; install the CRDs, and the watcher creates these objects"
            findings.append(warning(_subject(tenant), message, "kubectl get crds"))
    return findings


def tenant_findings(tenant: Manifest) -> Iterator[CheckResult]:
    """The problems of one tenant. Yields nothing if the tenant is healthy."""
    name, subject = _name(tenant), _subject(tenant)
    is_paused = bool((tenant.get("spec") or {}).get("paused"))
    if is_deleting(tenant):
        is_blocked = ready_condition(tenant).get("reason") == Reason.DELETION_BLOCKED
        if is_blocked or _age_s(tenant["metadata"]["deletionTimestamp"]) > _MAX_DELAY_S:
            fix = f"tenancy resume {name}" if is_paused else f"tenancy show {name}"
            yield failed(subject, f"is stuck in Terminating: {reason_text(tenant)}", fix)
        return
    if is_paused:
        yield warning(
            subject, f"is paused: {ready_condition(tenant).get('message', '')}", f"tenancy resume {name}"
        )
    elif phase_of(tenant) == Phase.FAILED:
        yield failed(subject, reason_text(tenant), f"tenancy show {name}")
    drifted = condition(tenant, ConditionType.DRIFTED)
    if drifted.get("status") == "True":
        yield warning(subject, f"has drifted: {drifted.get('message', '')}", f"tenancy diff {name}")


def _subject(tenant: Manifest) -> str:
    return f"tenant {_name(tenant)}"


def _name(tenant: Manifest) -> str:
    """The name of the Tenant, such as `research`.

    If the other API group has an older Tenant with the same name, the result is the full name, such as
    `tenants.platform.ai/research`.
    """
    return full_name(tenant) if is_duplicate(tenant, {}) else str(tenant["metadata"]["name"])


def _written_at(tenant: Manifest) -> str:
    """The time of the last write to the spec, from managedFields.

    If managedFields contains no such time, the result is the creation time.
    """
    entries = tenant["metadata"].get("managedFields") or ()
    times = [
        entry["time"] for entry in entries if "f:spec" in (entry.get("fieldsV1") or {}) and "time" in entry
    ]
    return max(times, default=str(tenant["metadata"]["creationTimestamp"]))


def _age_s(time: str) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(time)).total_seconds()
