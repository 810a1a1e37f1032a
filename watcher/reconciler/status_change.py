"""Computes a Tenant's new status from its old status and the changed parts (`StatusChange`). No I/O.

The `lastTransitionTime` of a condition changes only if the condition's `status` changes. The Kubernetes API
conventions require this.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final, NamedTuple

from tenancy.base.manifest import Manifest
from tenancy.base.reasons import Reason
from tenancy.objects.subjects import Subject
from tenancy.spec.tenant_status import (
    BoundSubject,
    Condition,
    ConditionType,
    LastUpdate,
    NamespaceStatus,
    Phase,
    TenantStatus,
    condition,
)


class Keep(Enum):
    """The type of KEEP. In a StatusChange, KEEP means that a part of the status stays as it is."""

    KEEP = "keep"


# The maximum numbers of failed checks and of problems that the message of the condition Isolated lists.
_SHOWN_CHECKS: Final = 20
_SHOWN_PROBLEMS: Final = 3
# See `Keep`.
KEEP: Final = Keep.KEEP
# The maximum length of a condition's message in Kubernetes. Messages of the API server can be longer.
_MESSAGE_MAX_LENGTH: Final = 32768


class Verdict(NamedTuple):
    """The status, reason and message of a condition. If `is_true` is None, the status is `Unknown`."""

    is_true: bool | None
    reason: str
    message: str


@dataclass(frozen=True, kw_only=True)
class StatusChange:
    """The parts of a new status. The caller must set all parts. KEEP means that a part stays as it is."""

    phase: Phase | Keep
    ready: Verdict
    tenant_ready: Verdict
    namespace_ready: Verdict | Keep
    spec_applied: Verdict | Keep
    integrations_ready: Verdict | Keep
    drifted: Verdict | Keep
    namespaces: tuple[str, ...] | Keep
    # None if it is unknown which objects are applied. The watcher then runs `pulumi up` again.
    applied_digest: str | Keep | None
    last_update: LastUpdate | Keep
    stack: str | Keep
    is_protected: bool | Keep
    hostnames: tuple[str, ...] | Keep
    subjects: tuple[Subject, ...] | Keep
    missing_crds: dict[str, tuple[str, ...]] | Keep


def new_status(manifest: Manifest, change: StatusChange) -> Manifest:
    """The Tenant's old status with the parts of `change` that are not KEEP. Does not change `manifest`."""
    old: Manifest = manifest.get("status") or {}
    generation = manifest["metadata"]["generation"]
    phase = Phase(old.get("phase", Phase.PENDING)) if change.phase is KEEP else change.phase
    parts: dict[str, Any] = {
        "applied_digest": change.applied_digest,
        "last_update": change.last_update,
        "stack": change.stack,
        "protected": change.is_protected,
        "hostnames": change.hostnames,
        "subjects": KEEP if change.subjects is KEEP else _bound_subjects(change.subjects),
        "missing_crds": change.missing_crds,
    }
    if change.namespaces is not KEEP:
        parts["namespace_status"] = {name: NamespaceStatus(ready=True) for name in change.namespaces}
        parts["namespace_count"] = len(change.namespaces)
    # An empty map is left out of the status.
    if change.missing_crds == {}:
        parts["missing_crds"] = None
    changed = {name: value for name, value in parts.items() if value is not KEEP}
    model = TenantStatus(phase=phase, observed_generation=generation, **changed)
    written = model.model_dump(
        by_alias=True, mode="json", include={"phase", "observed_generation", *changed}, exclude_none=True
    )
    removed = {TenantStatus.model_fields[name].alias for name, value in changed.items() if value is None}
    kept = {field: value for field, value in old.items() if field not in removed}
    return {**kept, **written, "conditions": _conditions(manifest, change)}


def _bound_subjects(subjects: tuple[Subject, ...]) -> tuple[BoundSubject, ...]:
    return tuple(
        BoundSubject(kind=each.kind, name=each.name, namespace=each.namespace or None) for each in subjects
    )


def with_isolation(status: Manifest, manifest: Manifest, failures: Mapping[str, str] | None) -> Manifest:
    """The status with the condition Isolated.

    `failures` maps the ID of each failed check to its problem. If `failures` is None, the results are not
    known, and the condition stays as it is.
    """
    if failures is None:
        return status
    verdict = Verdict(True, Reason.CHECKS_PASSED, "")
    if failures:
        ids = list(failures)
        more = f" and {len(ids) - _SHOWN_CHECKS} more" if len(ids) > _SHOWN_CHECKS else ""
        problems = "; ".join(list(dict.fromkeys(failures.values()))[:_SHOWN_PROBLEMS])
        message = f"failed checks: {', '.join(ids[:_SHOWN_CHECKS])}{more}: {problems}"
        verdict = Verdict(False, Reason.CHECKS_FAILED, message)
    kind = ConditionType.ISOLATED
    isolated = _condition(manifest, kind, str(verdict.is_true), verdict.reason, verdict.message)
    others = [entry for entry in status["conditions"] if entry["type"] != kind]
    return {**status, "conditions": [*others, isolated]}


def now_text() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _conditions(manifest: Manifest, change: StatusChange) -> list[Manifest]:
    """The new conditions. Conditions of the old status come first, in their old order."""
    verdicts: dict[ConditionType, Verdict | Keep] = {
        ConditionType.READY: change.ready,
        ConditionType.TENANT_READY: change.tenant_ready,
        ConditionType.NAMESPACE_READY: change.namespace_ready,
        ConditionType.INTEGRATIONS_READY: change.integrations_ready,
        ConditionType.SPEC_APPLIED: change.spec_applied,
        ConditionType.DRIFTED: change.drifted,
    }
    old: list[Manifest] = (manifest.get("status") or {}).get("conditions") or []
    conditions = {entry["type"]: entry for entry in old}
    for kind, verdict in verdicts.items():
        if verdict is not KEEP:
            status = "Unknown" if verdict.is_true is None else str(verdict.is_true)
            conditions[kind] = _condition(manifest, kind, status, verdict.reason, verdict.message)
        elif kind not in conditions:
            conditions[kind] = _condition(manifest, kind, "Unknown", Reason.PENDING, "")
    return list(conditions.values())


def _condition(manifest: Manifest, kind: ConditionType, status: str, reason: str, message: str) -> Manifest:
    before = condition(manifest, kind)
    since = before["lastTransitionTime"] if before.get("status") == status else now_text()
    return Condition(
        type=kind,
        status=status,
        reason=reason,
        message=message[:_MESSAGE_MAX_LENGTH],
        last_transition_time=since,
        observed_generation=manifest["metadata"]["generation"],
    ).model_dump(by_alias=True)
