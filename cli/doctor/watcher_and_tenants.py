"""Checks of what goes on: the watcher, the plans, the tenants, the integrations they wait for."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from cli.connection import Connection
from cli.doctor.finding import Finding, failed, ok, warning
from cli.wait import is_status_current, phase_of, ready_condition, reason_text
from cluster.tenants import is_deleting, read_tenants
from tenancy.base.errors import PlansError
from tenancy.base.kinds import CONFIG_MAP, INTEGRATION_KINDS, Kind
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import PLANS_CONFIG_MAP, SYSTEM_NAMESPACE, WATCHER
from tenancy.spec.tenant_status import ConditionType, Phase

_STATEFUL_SET: Final = Kind("apps/v1", "StatefulSet", "statefulsets")
# How long a watcher that is well may take to look at a new spec, or to let a tenant go.
_LATE_S: Final = 60.0


def check_watcher(connection: Connection) -> list[Finding]:
    late = unobserved_tenants(read_tenants(connection.cluster))
    stateful_set = connection.cluster.get(_STATEFUL_SET, WATCHER, SYSTEM_NAMESPACE)
    restart = f"kubectl -n {SYSTEM_NAMESPACE} rollout restart statefulset {WATCHER}"
    found = []
    if stateful_set is None:
        restart = "python -m watcher"
        found.append(ok("watcher", f"no StatefulSet {SYSTEM_NAMESPACE}/{WATCHER}: it runs elsewhere"))
    elif not (stateful_set.get("status") or {}).get("readyReplicas"):
        fix = f"kubectl -n {SYSTEM_NAMESPACE} logs {WATCHER}-0"
        found.append(failed("watcher", f"StatefulSet {SYSTEM_NAMESPACE}/{WATCHER} is not ready", fix))
    else:
        found.append(ok("watcher", f"StatefulSet {SYSTEM_NAMESPACE}/{WATCHER} is ready"))
    if late:
        told = (
            f"has not looked at {', '.join(late)} for more than {_LATE_S:g} s: it does not run, or is stuck"
        )
        found.append(failed("watcher", told, restart))
    return found


def unobserved_tenants(tenants: Iterable[Manifest]) -> list[str]:
    """Those whose newest spec nobody has looked at for too long."""
    return [
        tenant["metadata"]["name"]
        for tenant in tenants
        if not is_status_current(tenant) and _age_s(_written_at(tenant)) > _LATE_S
    ]


def check_plans(connection: Connection) -> list[Finding]:
    place = f"{SYSTEM_NAMESPACE}/{PLANS_CONFIG_MAP}"
    is_shipped = connection.cluster.get(CONFIG_MAP, PLANS_CONFIG_MAP, SYSTEM_NAMESPACE) is None
    try:
        names = ", ".join(sorted(connection.plans().plans))
    except PlansError as error:
        fix = f"kubectl -n {SYSTEM_NAMESPACE} edit configmap {PLANS_CONFIG_MAP}"
        return [failed("plans", f"ConfigMap {place}: {error}", fix)]
    source = f"the shipped ones: there is no ConfigMap {place}" if is_shipped else f"from ConfigMap {place}"
    return [ok("plans", f"{names} ({source})")]


def check_tenants(connection: Connection) -> list[Finding]:
    tenants = read_tenants(connection.cluster)
    found = [finding for tenant in tenants for finding in tenant_findings(tenant)]
    well = len(tenants) - len({finding.subject for finding in found})
    return [ok("tenants", f"{len(tenants)} there, {well} with nothing to tell"), *found]


def check_integrations(connection: Connection) -> list[Finding]:
    served = [
        f"{name} ({len(there)} of {len(kinds)} CRDs)"
        for name, kinds in INTEGRATION_KINDS.items()
        if (there := connection.served & set(kinds))
    ]
    found = [ok("integrations", f"served: {', '.join(served) or 'none'}")]
    for tenant in read_tenants(connection.cluster):
        told = _condition(tenant, ConditionType.INTEGRATIONS_READY)
        if told.get("reason") == "CRDsMissing":
            message = f"{told['message']}; it is completed by itself when they are installed"
            found.append(warning(_subject(tenant), message, "kubectl get crds"))
    return found


def tenant_findings(tenant: Manifest) -> Iterator[Finding]:
    name, subject = tenant["metadata"]["name"], _subject(tenant)
    is_paused = bool(tenant["spec"].get("paused"))
    if is_deleting(tenant):
        if _age_s(tenant["metadata"]["deletionTimestamp"]) > _LATE_S:
            fix = f"tenancy resume {name}" if is_paused else f"tenancy show {name}"
            yield failed(subject, f"is stuck in Terminating: {reason_text(tenant)}", fix)
        return
    if is_paused:
        yield warning(
            subject, f"is paused: {ready_condition(tenant).get('message', '')}", f"tenancy resume {name}"
        )
    elif phase_of(tenant) == Phase.FAILED:
        yield failed(subject, reason_text(tenant), f"tenancy show {name}")
    drifted = _condition(tenant, ConditionType.DRIFTED)
    if drifted.get("status") == "True":
        yield warning(subject, f"has drifted: {drifted.get('message', '')}", f"tenancy diff {name}")


def _subject(tenant: Manifest) -> str:
    return f"tenant {tenant['metadata']['name']}"


def _condition(tenant: Manifest, kind: ConditionType) -> Manifest:
    conditions: list[Manifest] = (tenant.get("status") or {}).get("conditions") or []
    return next((found for found in conditions if found["type"] == kind), {})


def _written_at(tenant: Manifest) -> str:
    """When the spec was last written, as far as the API server tells."""
    entries = tenant["metadata"].get("managedFields") or ()
    times = [
        entry["time"] for entry in entries if "f:spec" in (entry.get("fieldsV1") or {}) and "time" in entry
    ]
    return max(times, default=str(tenant["metadata"]["creationTimestamp"]))


def _age_s(time: str) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(time)).total_seconds()
