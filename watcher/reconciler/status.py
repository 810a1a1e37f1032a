"""Computes the new status of a Tenant, with one function for each result of a reconcile. No I/O."""

from collections.abc import Mapping
from typing import Final

from stacks.result import StackResult
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.base.model import Model
from tenancy.base.names import stack_name
from tenancy.base.quantity import quantity_value
from tenancy.base.reasons import Reason
from tenancy.desired import DesiredState
from tenancy.objects.subjects import removed_subjects
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
    """The status while the tenant waits, for example for the deletion of a namespace.

    `repaired` describes repaired drift. `applied_digest` is the digest of an intermediate state that was
    applied before the wait. `is_applied` says whether the newest spec is applied.
    """
    verdict = Verdict(False, reason, message)
    spec_applied = _SPEC_APPLIED if is_applied else verdict
    return _waiting_status(manifest, Phase.PENDING, verdict, verdict, repaired, applied_digest, spec_applied)


def terminating_status(manifest: Manifest, reason: Reason, message: str) -> Manifest:
    """The status while the tenant's objects are being deleted."""
    verdict = Verdict(False, reason, message)
    return _waiting_status(manifest, Phase.TERMINATING, verdict, verdict, "", KEEP, KEEP)


def held_status(manifest: Manifest, reason: Reason, message: str, repaired: str) -> Manifest:
    """The status of a paused or protected Tenant that is being deleted. The watcher keeps its objects."""
    verdict = Verdict(False, reason, message)
    return _waiting_status(manifest, Phase.TERMINATING, verdict, KEEP, repaired, KEEP, KEEP)


def active_status(
    manifest: Manifest,
    desired: DesiredState,
    result: StackResult | None = None,
    message: str = "",
    repaired: str = "",
    other_hosts: tuple[str, ...] = (),
) -> Manifest:
    """The status after a successful Pulumi update, or if nothing had to be applied.

    `result` and `message` describe the update. `result` is None if there was no update. `repaired` describes
    repaired drift. `other_hosts` are not in the desired state, but stay reserved for the tenant.
    """
    # The status lists removed subjects until `apply` and then `sweep` have removed their access.
    has_removed = bool(result and removed_subjects(manifest, desired.subjects, desired.namespaces, {}))
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
        hostnames=(*desired.hostnames, *other_hosts),
        subjects=KEEP if has_removed else desired.subjects,
        missing_crds=dict(desired.missing),
    )
    return new_status(manifest, change)


def paused_status(manifest: Manifest, desired: DesiredState, drifted: Verdict) -> Manifest:
    """The status while the tenant is paused. `drifted` is the condition Drifted."""
    old: Manifest = manifest.get("status") or {}
    # The digest does not cover `status.protected`. The watcher sets this field only after an update.
    is_applied = old.get("appliedDigest") == desired.digest and old.get("protected") == desired.is_protected
    waits = "all changes are applied" if is_applied else "a change is not applied yet"
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
        subjects=KEEP,
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

    `is_applied` says whether the newest spec is applied, or is KEEP if this is unknown. `half_done` is the
    message of a Pulumi update that failed before it was complete. It is empty if there is no such update.
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
        # After an incomplete update, it is unknown which objects are applied.
        applied_digest=None if half_done else KEEP,
        last_update=LastUpdate(result="failed", message=half_done) if half_done else KEEP,
        stack=KEEP,
        is_protected=KEEP,
        hostnames=KEEP,
        subjects=KEEP,
        missing_crds=KEEP,
    )
    return new_status(manifest, change)


def ready_verdict(manifest: Manifest) -> tuple[str, str]:
    """The reason and the message of the condition Ready. Both are empty if there is no such condition."""
    ready = condition(manifest, ConditionType.READY)
    return ready.get("reason", ""), ready.get("message", "")


def with_usage(
    status: Manifest, live: Mapping[ObjectKey, Manifest], measured: MeasuredUsage | None
) -> Manifest:
    """The status with the usage, in total and by namespace. `measured` is the CPU and memory usage."""
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
        subjects=KEEP,
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
