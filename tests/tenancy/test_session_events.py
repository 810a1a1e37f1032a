"""The Event about a session's status, and the row that shows the session in a table."""

from tenancy.base.manifest import Manifest
from tenancy.sessions.row import session_row, sorted_rows
from tenancy.sessions.status_event import StatusEvent, status_event
from tenancy.spec.aisession import (
    AISessionStatus,
    SessionMetrics,
    SessionPhase,
    SessionReason,
    SessionResults,
)


def session(name: str, created: str = "2026-01-01T00:00:00Z", **status: object) -> Manifest:
    spec = {"tenantRef": {"name": "acme"}, "sessionType": "analysis", "aiModel": "asked"}
    metadata = {"name": name, "namespace": "tenant-acme", "creationTimestamp": created}
    return {"metadata": metadata, "spec": spec, "status": status}


def test_a_wait_that_ends_by_itself_is_no_warning() -> None:
    status = AISessionStatus(reason=SessionReason.QUEUED, message="others run")
    assert status_event(status) == StatusEvent("Waiting", "Queued: others run", False)
    status = AISessionStatus(reason=SessionReason.QUOTA_EXCEEDED, message="cpu is used up")
    assert status_event(status) == StatusEvent("Waiting", "QuotaExceeded: cpu is used up", True)
    status = AISessionStatus(reason="Unschedulable")
    assert status_event(status) == StatusEvent("Waiting", "Unschedulable", True)


def test_a_starting_job_has_no_event() -> None:
    assert status_event(AISessionStatus(reason=SessionReason.STARTING, job="aisession-a")) is None
    assert status_event(AISessionStatus()) is None


def test_events_of_a_run_name_the_model() -> None:
    running = AISessionStatus(phase=SessionPhase.RUNNING, job="aisession-a", ai_model="large")
    message = "the session runs in Job aisession-a with model large"
    assert status_event(running) == StatusEvent("Started", message, False)
    results = SessionResults(metrics=SessionMetrics(execution_time="3s"))
    completed = AISessionStatus(phase=SessionPhase.COMPLETED, results=results)
    assert status_event(completed) == StatusEvent(
        "Completed", "the session ended successfully after 3s", False
    )
    for phase in (SessionPhase.FAILED, SessionPhase.TERMINATED):
        event = status_event(AISessionStatus(phase=phase, reason="Error", message="exit code 1"))
        assert event == StatusEvent(phase.value, "Error: exit code 1", True)


def test_row_has_the_selected_model_or_the_requested_one() -> None:
    assert session_row(session("a", aiModel="selected")).ai_model == "selected"
    assert session_row(session("a")).ai_model == "asked"


def test_row_of_a_session_without_status_is_pending() -> None:
    row = session_row({**session("a"), "status": None})
    assert (row.phase, row.reason, row.is_active) == (SessionPhase.PENDING, "", True)


def test_sessions_that_wait_longest_come_first() -> None:
    rows = sorted_rows(
        [
            session_row(session("first", phase="Completed", completionTime="2026-01-02T00:00:00Z")),
            session_row(session("last", phase="Failed", completionTime="2026-01-03T00:00:00Z")),
            session_row(session("runs", phase="Running")),
            session_row(session("waits", "2026-01-01T00:00:02Z", phase="Pending")),
            session_row(session("waits-longer", "2026-01-01T00:00:01Z", phase="Pending")),
        ]
    )
    assert [row.name for row in rows] == ["waits-longer", "waits", "runs", "last", "first"]
