"""What a turn has to do, and what can hold it up."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tenancy.base.manifest import ObjectKey
from tenancy.changes import UpdateRecord
from tenancy.desired import DesiredState
from watcher.reconciler.repairs import Repair

# How the cause begins of an update that a new spec brought about.
BY_SPEC: Final = "spec generation"


@dataclass(frozen=True)
class Work:
    """Why an `up` is due: told in its message and in the status, and recorded with it."""

    cause: str
    record: UpdateRecord
    repairs: Mapping[ObjectKey, Repair] = field(default_factory=dict)
    is_retry: bool = False

    @property
    def drift(self) -> dict[ObjectKey, str]:
        """What was wrong with each object that was repaired."""
        return {key: repair.drift for key, repair in self.repairs.items()}

    @property
    def needs_refresh(self) -> bool:
        """Whether the cluster may be other than the stack's state says."""
        return bool(self.repairs) or self.is_retry


class NamespaceEnding(Exception):
    """A namespace that is being deleted holds the tenant up. Its end brings the tenant back here."""

    def __init__(self, message: str, applied: DesiredState | None = None) -> None:
        super().__init__(message)
        # What was applied on the way, if anything.
        self.applied = applied
