"""The result of a stack operation. It is computed from the events of Pulumi's engine."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from pulumi.automation import DiagnosticEvent, EngineEvent, OpType, StepEventMetadata

_UNCHANGED: Final = ("same", "read", "refresh")


@dataclass(frozen=True)
class Change:
    """One resource that the operation changed."""

    operation: str
    kind: str
    name: str
    fields: tuple[str, ...] = ()

    @classmethod
    def of(cls, operation: str, urn: str, fields: Iterable[str]) -> "Change":
        """The change of the resource with this URN. `fields` are the paths of the changed fields."""
        kind, name = urn.split("::")[-2].rsplit(":", 1)[-1], urn.split("::")[-1]
        return cls(operation, kind, name, tuple(sorted(fields)))


@dataclass(frozen=True)
class StackResult:
    """The result of one operation: up, destroy, preview or refresh."""

    stack: str
    operation: str
    counts: Mapping[str, int]
    changes: tuple[Change, ...]
    duration_s: float
    version: int | None = None
    has_pending_operations: bool = False

    @property
    def has_changes(self) -> bool:
        return any(count for operation, count in self.counts.items() if operation not in _UNCHANGED)


@dataclass
class EventLog:
    """Collects the events of one operation. The thread of the event stream calls `add`."""

    counts: dict[str, int] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    has_pending_operations: bool = False

    def add(self, event: EngineEvent) -> None:
        if event.resource_pre_event is not None:
            self._add_step(event.resource_pre_event.metadata)
        elif event.summary_event is not None:
            changes = event.summary_event.resource_changes
            self.counts = {OpType(operation).value: count for operation, count in changes.items()}
        elif event.diagnostic_event is not None:
            self._add_diagnostic(event.diagnostic_event)

    def _add_step(self, step: StepEventMetadata) -> None:
        if step.op in (OpType.SAME, OpType.READ, OpType.REFRESH):
            return
        self.changes.append(Change.of(step.op.value, step.urn, step.detailed_diff or ()))

    def _add_diagnostic(self, diagnostic: DiagnosticEvent) -> None:
        if "pending operations" in diagnostic.message:
            self.has_pending_operations = True
        if diagnostic.severity == "error" and not diagnostic.message.startswith("update failed"):
            resource = f"{diagnostic.urn.split('::')[-1]}: " if diagnostic.urn else ""
            self.errors.append(resource + diagnostic.message.strip())
