"""The changes to a Tenant's spec that are not yet in the history of the tenant's stack. No I/O.

The watcher keeps these changes in the status of the Tenant, so that they survive a restart of the watcher.
They include changes that are not applied, because the spec is rejected or the tenant is paused. The next
successful update (a run of `pulumi up`) records them in the stack's history. Then the status keeps only the
newest change.
"""

import json
from collections.abc import Iterable
from typing import Final

from pydantic import ValidationError

from tenancy.base.manifest import Manifest
from tenancy.history.spec_author import spec_change
from tenancy.spec.tenant_status import SpecChange, SpecResult

Changes = tuple[SpecChange, ...]
# The Tenant before and after a change to its spec. The first item is None for a new Tenant.
SeenVersion = tuple[Manifest | None, Manifest]

_FIELD: Final = "specChanges"
_MAX_CHANGES: Final = 30
_DETAIL_MAX_LENGTH: Final = 1000
# A longer rejected spec is not stored, because the size of a Tenant is limited.
_SPEC_MAX_LENGTH: Final = 8000
_NOT_APPLIED: Final = frozenset({SpecResult.REJECTED, SpecResult.FAILED, SpecResult.PAUSED})


def changes_in(status: Manifest | None) -> Changes:
    """The changes in a Tenant's status, oldest first. Entries that cannot be parsed are left out."""
    return tuple(
        change for entry in (status or {}).get(_FIELD) or () if (change := _change(entry)) is not None
    )


def with_changes(status: Manifest, changes: Changes) -> Manifest:
    """A copy of the status that contains these changes. If `changes` is empty, returns `status` itself."""
    entries = [change.model_dump(by_alias=True, mode="json", exclude_none=True) for change in changes]
    return {**status, _FIELD: entries} if entries else status


def unrecorded_changes(status: Manifest | None) -> Changes:
    """The changes in a Tenant's status that are not in the stack's history."""
    return tuple(change for change in changes_in(status) if change.result is not SpecResult.APPLIED)


def noted_changes(tenant: Manifest, seen: Iterable[SeenVersion], now: str) -> Changes:
    """The changes in the status, followed by newer changes. At most the newest 30 changes are returned.

    The newer changes come from `seen`. It contains each version of the Tenant that the watcher has received
    from the API server, together with the version before it. `now` is the time of a change whose time is
    unknown.
    """
    status = tenant.get("status") or {}
    changes = changes_in(status)
    newest = changes[-1].generation if changes else status.get("observedGeneration") or 0
    versions = {version["metadata"]["generation"]: (version, previous) for previous, version in seen}
    versions.setdefault(tenant["metadata"]["generation"], (tenant, None))
    for generation in sorted(versions):
        if newest < generation <= tenant["metadata"]["generation"]:
            version, previous = versions[generation]
            before = changes[-1] if changes else None
            changes = (*changes, spec_change(version, before, now, previous))
    return changes[-_MAX_CHANGES:]


def with_result(
    status: Manifest, tenant: Manifest, result: SpecResult, reason: str = "", detail: str = ""
) -> Manifest:
    """A copy of the status in which the newest change to the spec has this result.

    Returns the status unchanged in two cases:

    - The status does not contain the change that led to the current spec.
    - This change already has the result `APPLIED` or `UNCHANGED`, and the new result is not `APPLIED`.
    """
    changes = changes_in(status)
    if not changes or changes[-1].generation != tenant["metadata"]["generation"]:
        return status
    is_settled = changes[-1].result in (SpecResult.APPLIED, SpecResult.UNCHANGED)
    if is_settled and result is not SpecResult.APPLIED:
        return status  # The spec is already applied. `result` belongs to a later repair or a new plan.
    newest = changes[-1].model_copy(
        update={
            "result": result,
            "reason": reason if result in _NOT_APPLIED else "",
            "detail": detail[:_DETAIL_MAX_LENGTH] if result in _NOT_APPLIED else "",
            "spec": _short_spec(tenant) if result is SpecResult.REJECTED else None,
        }
    )
    earlier = () if result is SpecResult.APPLIED else changes[:-1]
    return with_changes(status, (*earlier, newest))


def _change(entry: Manifest) -> SpecChange | None:
    try:
        return SpecChange.model_validate(entry)
    except ValidationError:
        return None


def _short_spec(tenant: Manifest) -> Manifest | None:
    spec: Manifest = tenant.get("spec") or {}
    return spec if len(json.dumps(spec)) <= _SPEC_MAX_LENGTH else None
