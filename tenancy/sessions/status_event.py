"""The Kubernetes Event that reports a session's status."""

from typing import Final, NamedTuple

from tenancy.spec.aisession import AISessionStatus, SessionPhase, SessionReason

_WAITING: Final = "Waiting"
_REASONS: Final = {
    SessionPhase.RUNNING: "Started",
    SessionPhase.COMPLETED: "Completed",
    SessionPhase.FAILED: "Failed",
    SessionPhase.TERMINATED: "Terminated",
}
# The reasons of sessions that wait for their tenant or for other sessions. If a session waits for any other
# reason, the Event is a warning, because somebody may have to solve a problem.
_USUAL_WAITS: Final = frozenset(
    {
        SessionReason.QUEUED,
        SessionReason.TENANT_NOT_READY,
        SessionReason.TENANT_PAUSED,
        SessionReason.TENANT_CORDONED,
        SessionReason.TENANT_TERMINATING,
    }
)


class StatusEvent(NamedTuple):
    reason: str
    message: str
    is_warning: bool


def status_event(status: AISessionStatus) -> StatusEvent | None:
    """The Event for a new status. None while the Job starts, because the Event `Started` follows soon."""
    if status.phase is SessionPhase.PENDING:
        if status.reason in (None, SessionReason.STARTING):
            return None
        return StatusEvent(_WAITING, _cause(status), status.reason not in _USUAL_WAITS)
    reason = _REASONS[status.phase]
    if status.phase is SessionPhase.RUNNING:
        return StatusEvent(reason, f"the session runs in Job {status.job}{_model(status)}", False)
    if status.phase is SessionPhase.COMPLETED:
        metrics = status.results.metrics if status.results else None
        duration = f" after {metrics.execution_time}" if metrics and metrics.execution_time else ""
        return StatusEvent(reason, f"the session ended successfully{duration}{_model(status)}", False)
    return StatusEvent(reason, _cause(status), True)


def _cause(status: AISessionStatus) -> str:
    return ": ".join(part for part in (status.reason, status.message) if part)


def _model(status: AISessionStatus) -> str:
    return f" with model {status.ai_model}" if status.ai_model else ""
