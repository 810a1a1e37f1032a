"""The status a tenant gets, made from what happened. Pure; `reconcile` writes it.

Conditions keep their transition time while their status stays, as Kubernetes wants it.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from stacks.result import StackResult
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.base.model import Model
from tenancy.base.names import stack_name
from tenancy.base.quantity import quantity_value
from tenancy.desired import DesiredState
from tenancy.spec.tenant_status import (
    Condition,
    ConditionType,
    LastUpdate,
    NamespaceStatus,
    Phase,
    QuotaUsage,
    ResourceUsage,
    TenantStatus,
    TenantUsage,
)
from tenancy.usage import Amounts, MeasuredUsage, namespace_amounts, total_amounts

_READINESS: Final = (ConditionType.READY, ConditionType.TENANT_READY, ConditionType.NAMESPACE_READY)

_MISSING: Final = "the cluster has no "

# What a condition says: its status, a reason, a sentence.
Verdict = tuple[bool, str, str]


def pending_status(
    tenant: Manifest, reason: str, message: str, repaired: str = "", **changes: Any
) -> Manifest:
    verdicts = {**dict.fromkeys(_READINESS, (False, reason, message)), **_drifted(repaired)}
    return _status(tenant, Phase.PENDING, verdicts, **changes)


def active_status(
    tenant: Manifest,
    desired: DesiredState,
    result: StackResult | None = None,
    cause: str = "",
    repaired: str = "",
) -> Manifest:
    """After an `up` that went well, or where nothing was to be done (no result)."""
    conditions: dict[ConditionType, Verdict] = {
        ConditionType.READY: (True, "Applied", f"{len(desired.manifests)} objects are as desired"),
        ConditionType.TENANT_READY: (True, "Applied", "the stack is up to date"),
        ConditionType.INTEGRATIONS_READY: _integrations(desired),
        ConditionType.NAMESPACE_READY: (True, "Applied", ", ".join(desired.namespaces)),
    }
    if repaired:
        conditions[ConditionType.DRIFTED] = (False, "Repaired", f"{repaired}; repaired at {_now()}")
    elif _condition(tenant, ConditionType.DRIFTED).get("status") != "False":
        conditions[ConditionType.DRIFTED] = (False, "NoDrift", "")
    namespaces = {name: NamespaceStatus(ready=True) for name in desired.namespaces}
    changes: dict[str, Any] = {
        "namespace_count": len(namespaces),
        "namespace_status": namespaces,
        "stack": stack_name(desired.tenant),
        "applied_digest": desired.digest,
        "protected": desired.is_protected,
        "hostnames": desired.hostnames,
    }
    if result is not None:
        changes["last_update"] = LastUpdate(
            version=result.version,
            result="succeeded",
            message=cause,
            time=_now(),
            duration_seconds=result.duration_s,
            resource_changes=dict(result.counts),
        )
    return _status(tenant, Phase.ACTIVE, conditions, **changes)


def paused_status(tenant: Manifest, desired: DesiredState, found_drift: str) -> Manifest:
    """The tenant is left as it is; only what differs is told."""
    is_applied = (tenant.get("status") or {}).get("appliedDigest") == desired.digest
    waits = "as applied" if is_applied else "a change waits to be applied"
    verdict = (is_applied and not found_drift, "Paused", f"the tenant is paused: {waits}")
    conditions: dict[ConditionType, Verdict] = {
        ConditionType.READY: verdict,
        ConditionType.TENANT_READY: verdict,
        ConditionType.DRIFTED: (bool(found_drift), "Paused" if found_drift else "NoDrift", found_drift),
    }
    phase = Phase((tenant.get("status") or {}).get("phase", Phase.PENDING))
    return _status(tenant, phase, conditions)


def failed_status(
    tenant: Manifest,
    reason: str,
    message: str,
    *,
    unrepaired: str = "",
    repaired: str = "",
    half_done: str = "",
) -> Manifest:
    """After an error. An update that was left half done is told by its cause, and what is applied is
    forgotten: the next turn must apply it again."""
    verdict = (False, reason, message)
    conditions: dict[ConditionType, Verdict] = {
        ConditionType.READY: verdict,
        ConditionType.TENANT_READY: verdict,
    }
    if reason == "NamespaceTaken":
        conditions[ConditionType.NAMESPACE_READY] = verdict
    conditions |= _drifted(repaired, unrepaired)
    changes: dict[str, Any] = {}
    if half_done:
        failed = LastUpdate(result="failed", message=half_done)
        changes = {"applied_digest": None, "last_update": failed}
    return _status(tenant, Phase.FAILED, conditions, **changes)


def _integrations(desired: DesiredState) -> Verdict:
    if not desired.missing:
        return True, "Applied", ""
    return False, "CRDsMissing", f"{_MISSING}{desired.missing_text}"


def integrations_told(tenant: Manifest) -> str:
    """What the tenant's status says the cluster lacks."""
    message: str = _condition(tenant, ConditionType.INTEGRATIONS_READY).get("message", "")
    return message.removeprefix(_MISSING)


def terminating_status(tenant: Manifest, reason: str, message: str, repaired: str = "") -> Manifest:
    verdicts = {**dict.fromkeys(_READINESS, (False, reason, message)), **_drifted(repaired)}
    return _status(tenant, Phase.TERMINATING, verdicts)


def _drifted(repaired: str, unrepaired: str = "") -> dict[ConditionType, Verdict]:
    """What is known of drift while no update records it; nothing if there is none."""
    if unrepaired:
        return {ConditionType.DRIFTED: (True, "DriftFound", unrepaired)}
    return {ConditionType.DRIFTED: (False, "Repaired", f"{repaired}; repaired")} if repaired else {}


def ready_verdict(tenant: Manifest) -> tuple[str, str]:
    """Reason and message of the condition Ready."""
    ready = _condition(tenant, ConditionType.READY)
    return ready.get("reason", ""), ready.get("message", "")


def _status(
    tenant: Manifest, phase: Phase, verdicts: Mapping[ConditionType, Verdict], **changes: Any
) -> Manifest:
    """The new status: what the old one says, but for what is known now."""
    generation = tenant["metadata"]["generation"]
    conditions = {condition["type"]: condition for condition in _conditions(tenant)}
    for kind, (is_true, reason, message) in verdicts.items():
        value = str(is_true)
        before = conditions.get(kind, {})
        since = before["lastTransitionTime"] if before.get("status") == value else _now()
        conditions[kind] = _condition_of(kind, value, reason, message, since, generation)
    for kind in ConditionType:
        if kind not in conditions:
            conditions[kind] = _condition_of(kind, "Unknown", "Pending", "", _now(), generation)
    known = TenantStatus(phase=phase, observed_generation=generation, **changes)
    written = known.model_dump(
        by_alias=True, mode="json", include={"phase", "observed_generation", *changes}, exclude_none=True
    )
    old = tenant.get("status") or {}
    kept = {field: value for field, value in old.items() if not (field == "appliedDigest" and changes)}
    return {**kept, **written, "conditions": list(conditions.values())}


def _condition_of(
    kind: ConditionType, status: str, reason: str, message: str, since: str, generation: int
) -> Manifest:
    return Condition(
        type=kind,
        status=status,
        reason=reason,
        message=message,
        last_transition_time=since,
        observed_generation=generation,
    ).model_dump(by_alias=True)


def _conditions(tenant: Manifest) -> list[Manifest]:
    found: list[Manifest] = (tenant.get("status") or {}).get("conditions") or []
    return found


def _condition(tenant: Manifest, kind: ConditionType) -> Manifest:
    return next((condition for condition in _conditions(tenant) if condition["type"] == kind), {})


def with_usage(
    status: Manifest, live: Mapping[ObjectKey, Manifest], measured: MeasuredUsage | None
) -> Manifest:
    """The status with what the tenant uses now, in all and by namespace."""
    by_namespace = namespace_amounts(live)
    amounts = total_amounts(by_namespace.values())
    usage = TenantUsage(
        pods=int(quantity_value(amounts["pods"].used)) if "pods" in amounts else None,
        quotas={
            resource: QuotaUsage(used=amount.used, hard=amount.hard) for resource, amount in amounts.items()
        },
        cpu=measured.cpu_text if measured else None,
        memory=measured.memory_text if measured else None,
    )
    namespaces = {
        name: {**known, "resourceUsage": _written(_resource_usage(by_namespace.get(name, {})))}
        for name, known in (status.get("namespaceStatus") or {}).items()
    }
    return {
        **status,
        **({"namespaceStatus": namespaces} if namespaces else {}),
        "usage": _written(usage),
    }


def _resource_usage(amounts: Amounts) -> ResourceUsage:
    used = {resource: amount.used for resource, amount in amounts.items()}
    return ResourceUsage(cpu=used.get("cpu"), memory=used.get("memory"), storage=used.get("storage"))


def _written(part: Model) -> Manifest:
    return part.model_dump(by_alias=True, mode="json", exclude_none=True)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
