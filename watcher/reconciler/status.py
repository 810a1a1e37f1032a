"""Computes the status of a tenant for each result of a reconcile. `report` writes the status. No I/O."""

from collections.abc import Mapping
from typing import Final

from stacks.result import StackResult
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.base.model import Model
from tenancy.base.names import stack_name
from tenancy.base.quantity import quantity_value
from tenancy.base.reasons import Reason
from tenancy.desired import DesiredState
from tenancy.spec.tenant_status import (
    ConditionType,
    LastUpdate,
    Phase,
    QuotaUsage,
    ResourceUsage,
    TenantUsage,
    condition,
)
from tenancy.usage import Amounts, MeasuredUsage, namespace_amounts, total_amounts
from watcher.reconciler.drift_report import drift_verdict
from watcher.reconciler.status_change import KEEP, Keep, StatusChange, Verdict, new_status, now_text

_SPEC_APPLIED: Final = Verdict(True, Reason.APPLIED, "")


def pending_status(
    manifest: Manifest,
    reason: Reason,
    message: str,
    repaired: str = "",
    applied_digest: str | Keep = KEEP,
    *,
    is_applied: bool = False,
) -> Manifest:
    """The status while the tenant waits.

    `applied_digest` is the digest of an intermediate state that was applied before the wait. `is_applied` is
    whether the newest spec is applied.
    """
    verdict = Verdict(False, reason, message)
    spec_applied = _SPEC_APPLIED if is_applied else verdict
    return _waiting_status(manifest, Phase.PENDING, verdict, verdict, repaired, applied_digest, spec_applied)


def terminating_status(manifest: Manifest, reason: Reason, message: str) -> Manifest:
    """The status while the tenant's objects are being deleted."""
    verdict = Verdict(False, reason, message)
    return _waiting_status(manifest, Phase.TERMINATING, verdict, verdict, "", KEEP, KEEP)


def held_status(manifest: Manifest, reason: Reason, message: str, repaired: str) -> Manifest:
    """The status of a deleted Tenant whose objects stay for now. Its namespaces do not change."""
    verdict = Verdict(False, reason, message)
    return _waiting_status(manifest, Phase.TERMINATING, verdict, KEEP, repaired, KEEP, KEEP)


def active_status(
    manifest: Manifest,
    desired: DesiredState,
    result: StackResult | None = None,
    message: str = "",
    repaired: str = "",
) -> Manifest:
    """The status after a successful update, or if nothing had to be applied.

    `result` and `message` describe the update. If there was no update, `result` is None.
    """
    drifted: Verdict | Keep = KEEP
    if repaired:
        drifted = Verdict(False, Reason.REPAIRED, f"{repaired}; repaired at {now_text()}")
    elif condition(manifest, ConditionType.DRIFTED).get("status") != "False":
        drifted = Verdict(False, Reason.NO_DRIFT, "")
    change = StatusChange(
        phase=Phase.ACTIVE,
        ready=Verdict(True, Reason.APPLIED, f"{len(desired.manifests)} objects are as desired"),
        tenant_ready=Verdict(True, Reason.APPLIED, "the stack is up to date"),
        namespace_ready=Verdict(True, Reason.APPLIED, ", ".join(desired.namespaces)),
        spec_applied=_SPEC_APPLIED,
        integrations_ready=_integrations(desired),
        drifted=drifted,
        namespaces=desired.namespaces,
        applied_digest=desired.digest,
        last_update=_last_update(result, message) if result else KEEP,
        stack=stack_name(desired.tenant),
        is_protected=desired.is_protected,
        hostnames=desired.hostnames,
        missing_crds=dict(desired.missing),
    )
    return new_status(manifest, change)


def paused_status(manifest: Manifest, desired: DesiredState, drifted: Verdict) -> Manifest:
    """The status while the tenant is paused. Drift is reported but not repaired."""
    old: Manifest = manifest.get("status") or {}
    # `status.protected` is not part of the digest, and the watcher sets it only after an update.
    is_applied = old.get("appliedDigest") == desired.digest and old.get("protected") == desired.is_protected
    waits = "no change waits to be applied" if is_applied else "a change waits to be applied"
    verdict = Verdict(
        is_applied and drifted.is_true is False, Reason.PAUSED, f"the tenant is paused: {waits}"
    )
    stored = "the spec is stored, but not applied; set spec.paused to false to apply it"
    change = StatusChange(
        phase=KEEP,
        ready=verdict,
        tenant_ready=verdict,
        namespace_ready=KEEP,
        spec_applied=_SPEC_APPLIED if is_applied else Verdict(False, Reason.PAUSED, stored),
        integrations_ready=KEEP,
        drifted=drifted,
        namespaces=KEEP,
        applied_digest=KEEP,
        last_update=KEEP,
        stack=KEEP,
        is_protected=KEEP,
        hostnames=KEEP,
        missing_crds=KEEP,
    )
    return new_status(manifest, change)


def failed_status(
    manifest: Manifest,
    reason: str,
    message: str,
    *,
    is_applied: bool | Keep = False,
    drifted: Verdict | Keep = KEEP,
    half_done: str = "",
) -> Manifest:
    """The status after an error.

    `is_applied` is whether the newest spec is applied, or KEEP if this is unknown. `half_done` is the message
    of an update that failed half way.
    """
    verdict = Verdict(False, reason, message)
    change = StatusChange(
        phase=Phase.FAILED,
        ready=verdict,
        tenant_ready=verdict,
        namespace_ready=verdict if reason == Reason.NAMESPACE_TAKEN else KEEP,
        spec_applied=KEEP if is_applied is KEEP else _SPEC_APPLIED if is_applied else verdict,
        integrations_ready=KEEP,
        drifted=drifted,
        namespaces=KEEP,
        # After an update that failed half way, the applied state is unknown. The next update then applies the
        # whole desired state.
        applied_digest=None if half_done else KEEP,
        last_update=LastUpdate(result="failed", message=half_done) if half_done else KEEP,
        stack=KEEP,
        is_protected=KEEP,
        hostnames=KEEP,
        missing_crds=KEEP,
    )
    return new_status(manifest, change)


def ready_verdict(manifest: Manifest) -> tuple[str, str]:
    """Reason and message of the condition Ready."""
    ready = condition(manifest, ConditionType.READY)
    return ready.get("reason", ""), ready.get("message", "")


def with_usage(
    status: Manifest, live: Mapping[ObjectKey, Manifest], measured: MeasuredUsage | None
) -> Manifest:
    """The status with the tenant's current usage, in total and by namespace."""
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


def _waiting_status(
    manifest: Manifest,
    phase: Phase,
    verdict: Verdict,
    namespace_ready: Verdict | Keep,
    repaired: str,
    applied_digest: str | Keep,
    spec_applied: Verdict | Keep,
) -> Manifest:
    change = StatusChange(
        phase=phase,
        ready=verdict,
        tenant_ready=verdict,
        namespace_ready=namespace_ready,
        spec_applied=spec_applied,
        integrations_ready=KEEP,
        drifted=drift_verdict(repaired),
        namespaces=KEEP,
        applied_digest=applied_digest,
        last_update=KEEP,
        stack=KEEP,
        is_protected=KEEP,
        hostnames=KEEP,
        missing_crds=KEEP,
    )
    return new_status(manifest, change)


def _last_update(result: StackResult, message: str) -> LastUpdate:
    return LastUpdate(
        version=result.version,
        result="succeeded",
        message=message,
        time=now_text(),
        duration_seconds=result.duration_s,
        resource_changes=dict(result.counts),
    )


def _integrations(desired: DesiredState) -> Verdict:
    if not desired.missing:
        return Verdict(True, Reason.APPLIED, "")
    return Verdict(False, Reason.CRDS_MISSING, f"the cluster has no {desired.missing_text}")


def _resource_usage(amounts: Amounts) -> ResourceUsage:
    used = {resource: amount.used for resource, amount in amounts.items()}
    return ResourceUsage(cpu=used.get("cpu"), memory=used.get("memory"), storage=used.get("storage"))


def _written(part: Model) -> Manifest:
    return part.model_dump(by_alias=True, mode="json", exclude_none=True)
