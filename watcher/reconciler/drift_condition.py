"""Computes the condition Drifted, which reports manual changes of a tenant's objects. No I/O.

A spec that is not applied yet is not drift. The condition SpecApplied reports such a spec.
"""

from tenancy.base.manifest import Objects
from tenancy.base.reasons import Reason
from tenancy.drift import drift, drift_text
from watcher.reconciler.status_change import KEEP, Keep, Verdict


def drift_verdict(repaired: str, unrepaired: str = "") -> Verdict | Keep:
    """The condition Drifted after an error or while the tenant waits. KEEP if there is no new drift.

    `repaired` describes repaired drift, and `unrepaired` describes drift that could not be repaired.
    """
    if unrepaired:
        return Verdict(True, Reason.DRIFT_FOUND, unrepaired)
    return Verdict(False, Reason.REPAIRED, f"{repaired}; repaired") if repaired else KEEP


def paused_drift_verdict(applied: Objects | None, live: Objects, problem: str) -> Verdict:
    """The condition Drifted of a paused tenant. Its drift is not repaired.

    `applied` contains the last applied objects, or is None if they are unknown. `problem` is the error that
    occurred when these objects were read.
    """
    if applied is None:
        unknown = f"cannot be read: {problem}" if problem else "have not been read yet"
        return Verdict(None, Reason.PAUSED, f"the last applied objects {unknown}")
    text = drift_text(drift(applied, live))
    return Verdict(bool(text), Reason.PAUSED if text else Reason.NO_DRIFT, text)
