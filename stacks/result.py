"""The result of a stack operation. It is computed from the events of Pulumi's engine."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pulumi.automation import DiagnosticEvent, EngineEvent, OpType

_UNCHANGED: Final = ("same", "read", "refresh")


@dataclass(frozen=True)
class StackResult:
    """The result of one `up`, `destroy`, `preview` or `refresh`."""

    stack: str
    operation: str
    counts: Mapping[str, int]
    duration_s: float
    version: int | None = None
    has_pending_operations: bool = False

    @property
    def has_changes(self) -> bool:
        return any(count for operation, count in self.counts.items() if operation not in _UNCHANGED)


@dataclass
class EventLog:
    """Collects data from the events of one operation. The Automation API calls `add` in its own thread."""

    counts: dict[str, int] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    has_pending_operations: bool = False
    # The number of the update in the stack's history. None if the history does not contain the operation, or
    # if the number is unknown.
    version: int | None = None

    def add(self, event: EngineEvent) -> None:
        if event.summary_event is not None:
            changes = event.summary_event.resource_changes
            self.counts = {OpType(operation).value: count for operation, count in changes.items()}
        elif event.diagnostic_event is not None:
            self._add_diagnostic(event.diagnostic_event)

    def _add_diagnostic(self, diagnostic: DiagnosticEvent) -> None:
        if "pending operations" in diagnostic.message:
            self.has_pending_operations = True
        if diagnostic.severity == "error" and not diagnostic.message.startswith("update failed"):
            resource = f"{diagnostic.urn.split('::')[-1]}: " if diagnostic.urn else ""
            self.errors.append(resource + diagnostic.message.strip())
