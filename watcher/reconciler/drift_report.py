"""Computes the condition Drifted, and the differences that the web page shows. No I/O.

Drift is a manual change to a tenant's objects. A spec that is not applied yet is not drift. The condition
SpecApplied reports such a spec.
"""

from stacks.applied_objects import desired_from_spec
from tenancy.base.manifest import Manifest, Objects, is_deleting
from tenancy.base.reasons import Reason
from tenancy.changes import Differences, object_changes, tenant_differences
from tenancy.decision import Facts
from tenancy.desired import DesiredState
from tenancy.drift import drift, drift_text
from tenancy.spec.tenant_status import is_spec_applied
from watcher.reconciler.status_change import KEEP, Keep, Verdict


def drift_verdict(repaired: str, unrepaired: str = "") -> Verdict | Keep:
    """The condition Drifted after an error, or while the tenant is waiting.

    `repaired` describes drift that was repaired, and `unrepaired` describes drift that could not be repaired.
    If both are empty, returns KEEP: the condition stays as it is.
    """
    if unrepaired:
        return Verdict(True, Reason.DRIFT_FOUND, unrepaired)
    return Verdict(False, Reason.REPAIRED, f"{repaired}; repaired") if repaired else KEEP


def paused_drift_verdict(applied: Objects | None, live: Objects, problem: str) -> Verdict:
    """The condition Drifted of a paused tenant. The watcher reports the drift, but does not repair it.

    `applied` contains the last applied objects. It is None if they are unknown. `problem` is the error that
    occurred when the watcher tried to read these objects, or empty.
    """
    if applied is None:
        unknown = f"cannot be read: {problem}" if problem else "have not been read yet"
        return Verdict(None, Reason.PAUSED, f"the last applied objects {unknown}")
    text = drift_text(drift(applied, live))
    return Verdict(bool(text), Reason.PAUSED if text else Reason.NO_DRIFT, text)


def current_differences(
    tenant: Manifest, desired: DesiredState | None, applied: Objects | None, live: Objects, facts: Facts
) -> Differences:
    """The manual changes to the tenant's objects (drift), and the changes that are not applied yet.

    `desired` is the desired state of the last accepted spec. `applied` contains the last applied objects.
    Each of the two parameters is None if its value is unknown.
    """
    if is_deleting(tenant):
        return Differences(drift=())
    if is_spec_applied(tenant):
        return Differences(drift=object_changes(desired, live) if desired else None)
    name = tenant["metadata"]["name"]
    stored = desired_from_spec(name, tenant.get("spec") or {}, facts)
    state = DesiredState(name, tuple(applied.values())) if applied is not None else None
    return tenant_differences(stored, state, live)
