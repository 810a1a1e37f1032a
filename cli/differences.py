"""Reads and prints how the live objects of a tenant differ from the desired state.

A difference has one of two causes. Drift: somebody has changed or deleted a live object by hand. A pending
change: the watcher has not applied the newest spec or plan yet, for example because the tenant is paused or
the spec is rejected.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from rich.text import Text

from cli.output import console, error_console, print_changes
from cli.rights.permissions import rights_text
from cli.rights.reader import READ_CRDS, READ_PLANS, Reader
from stacks.applied_objects import read_applied
from stacks.errors import StackError
from tenancy.base.errors import Rejection
from tenancy.base.kinds import CORE_KINDS
from tenancy.base.manifest import Manifest, Objects, is_deleting
from tenancy.base.reasons import Reason
from tenancy.changes import Differences, object_changes
from tenancy.decision import Facts, decide
from tenancy.spec.tenant_status import ConditionType, condition, is_spec_applied

_REJECTIONS: Final = frozenset(
    {
        Reason.INVALID_SPEC,
        Reason.UNKNOWN_PLAN,
        Reason.NAME_TAKEN,
        Reason.NAMESPACE_TAKEN,
        Reason.HOST_TAKEN,
        Reason.OBJECT_TAKEN,
        Reason.QUOTA_IN_USE,
    }
)


@dataclass(frozen=True)
class CurrentDifferences:
    """The drift and the pending changes of a tenant.

    `drift_problem` says why some or all of the drift is unknown. It is empty if the drift is known.
    `pending_problem` says why the pending changes are unknown. It is empty if they are known.
    """

    tenant: Manifest
    parts: Differences
    drift_problem: str = ""
    pending_problem: str = ""

    @property
    def reason(self) -> tuple[str, str]:
        """Why the newest spec is not applied: a reason, such as `Paused`, and a message.

        Both are empty if the newest spec is applied, or if the Tenant is being deleted.
        """
        if is_spec_applied(self.tenant) or is_deleting(self.tenant):
            return "", ""
        applied = condition(self.tenant, ConditionType.SPEC_APPLIED)
        generation = self.tenant["metadata"]["generation"]
        if applied.get("observedGeneration") == generation:
            return applied["reason"], applied.get("message", "")
        return Reason.PENDING, f"the watcher has not processed generation {generation} of the spec yet"


def read_differences(
    reader: Reader, tenant: Manifest, live: Objects, plans_file: Path | None
) -> CurrentDifferences:
    """Compare the live objects of a tenant with the last applied state and the desired state.

    If the newest spec is not applied, the function reads the last applied state from the tenant's stack. If
    it cannot read the stack or the plans, the differences are unknown. The comparison skips the kinds that
    the user cannot list.

    `reader.missing` contains the rights that the user lacks. The function removes the rights that this
    comparison does not need, such as the right to list a kind of which the tenant has no objects.
    """
    kinds = {kind.key for kind in CORE_KINDS}
    plans = reader.plans(plans_file)
    if plans is None:
        reader.drop_kinds_except(kinds)
        return unknown_differences(tenant, f"you cannot {READ_PLANS}")
    facts = Facts(plans, reader.served or frozenset())
    desired, pending_problem = None, ""
    try:
        desired = decide(tenant, facts).desired
    except Rejection as error:
        pending_problem = str(error)
    if desired and not desired.missing and READ_CRDS in reader.missing:
        reader.missing.remove(READ_CRDS)
    reader.drop_kinds_except(kinds | {key.kind for key in desired.by_key} if desired else kinds)
    applied = desired if is_spec_applied(tenant) else None
    if applied is None:
        try:
            with reader.connection.stacks() as stacks, error_console.status("reading the stack"):
                applied = read_applied(stacks, tenant, facts)
        except StackError as error:
            problem = pending_problem or str(error)
            return replace(unknown_differences(tenant, str(error)), pending_problem=problem)
    parts = Differences(
        drift=object_changes(applied.without(reader.unreadable), live),
        pending_changes=object_changes(desired, applied.by_key) if desired else None,
    )
    drift_problem = f"you cannot {rights_text(reader.missing)}" if reader.missing else ""
    return CurrentDifferences(tenant, parts, drift_problem, pending_problem)


def unknown_differences(tenant: Manifest, problem: str) -> CurrentDifferences:
    """The result if both the drift and the pending changes are unknown. `problem` says why."""
    return CurrentDifferences(tenant, Differences(drift=None, pending_changes=None), problem, problem)


def print_differences(differences: CurrentDifferences) -> None:
    """Print two sections: the drift, and the pending changes.

    The second section ends with a hint about the next step.
    """
    parts = differences.parts
    console.print(Text("Manual changes (drift)", style="bold"))
    if parts.drift is None:
        console.print(Text(f"unknown: {differences.drift_problem}"))
        console.print(Text(_reported_drift(differences.tenant)))
    elif not parts.drift and differences.drift_problem:
        console.print("none in the objects that you may read")
        console.print(Text(_reported_drift(differences.tenant)))
    elif not parts.drift:
        console.print("none: all objects are as last applied")
    print_changes(parts.drift or ())
    console.print(Text("\nChanges that are not applied yet", style="bold"))
    reason, message = differences.reason
    if not reason:
        console.print("none: the spec is applied")
        return
    console.print(Text(f"{reason}: {message}", style="yellow"))
    if parts.pending_changes is None:
        console.print(Text(f"unknown: {differences.pending_problem}"))
    elif not parts.pending_changes:
        console.print("none: the newest spec changes no objects")
    print_changes(parts.pending_changes or ())
    console.print(Text(_next_step(differences.tenant, reason)))


def print_problems(differences: CurrentDifferences) -> None:
    """Print to standard error why parts of the differences are unknown."""
    problems = (
        ("drift", differences.drift_problem),
        ("pending changes", differences.pending_problem),
    )
    for part, problem in problems:
        if problem:
            error_console.print(Text(f"{part} unknown: {problem}"))


def _reported_drift(tenant: Manifest) -> str:
    """A sentence about the condition Drifted, which the watcher writes to the status of the Tenant."""
    drifted = condition(tenant, ConditionType.DRIFTED)
    if not drifted:
        return "The status of the Tenant has no condition Drifted yet."
    message = f": {drifted['message']}" if drifted.get("message") else ""
    return f"The watcher reports the condition Drifted={drifted['status']} ({drifted['reason']}){message}"


def _next_step(tenant: Manifest, reason: str) -> str:
    name = tenant["metadata"]["name"]
    if reason == Reason.PAUSED:
        return f"To apply the spec, run: tenancy resume {name}"
    if reason in _REJECTIONS:
        return "To apply the spec, correct it, and run: tenancy apply -f PATH"
    return f"The watcher will try to apply the spec. To see its progress, run: tenancy show {name}"
