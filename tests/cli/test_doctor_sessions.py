"""`tenancy doctor` warns about sessions that have waited for a long time."""

from datetime import UTC, datetime, timedelta

import pytest

from cli.doctor.finding import Level
from cli.doctor.waiting_sessions import waiting_findings
from tenancy.sessions.row import SessionRow
from tenancy.spec.aisession import SessionPhase, SessionReason


def row(name: str, minutes: int, reason: str = "Queued", phase: str = "Pending") -> SessionRow:
    return SessionRow(
        namespace="tenant-acme",
        name=name,
        tenant="acme",
        session_type="analysis",
        phase=SessionPhase(phase),
        reason=reason,
        message="a message",
        created=(datetime.now(UTC) - timedelta(minutes=minutes)).isoformat(),
    )


def test_a_long_wait_is_a_warning_with_reason_and_advice() -> None:
    (finding,) = waiting_findings([row("new", 1), row("stuck", 14, "QuotaExceeded")])
    assert (finding.level, finding.subject) == (Level.WARNING, "tenant acme")
    expected = "session tenant-acme/stuck has been Pending for 14 min: QuotaExceeded: a message"
    assert finding.message == expected
    assert finding.fix == "wait, raise the quota, or create the session with less CPU and memory"


def test_sessions_with_the_same_reason_share_a_warning() -> None:
    rows = [row("b", 20), row("a", 30), row("c", 10), row("d", 10, "TenantPaused")]
    queued, paused = waiting_findings(rows)
    assert queued.message.startswith("session tenant-acme/a has been Pending for 30 min (and 2 more sessions")
    assert paused.fix == "tenancy resume acme"


def test_sessions_that_run_or_have_ended_are_no_problem() -> None:
    assert waiting_findings([row("a", 60, "", "Running"), row("b", 60, "Error", "Failed")]) == []


def test_session_that_the_watcher_ignores_points_to_the_watcher() -> None:
    (finding,) = waiting_findings([row("a", 60, "")])
    assert finding.message.endswith(": it has no status")
    assert "check that the watcher is running" in finding.fix


@pytest.mark.parametrize("reason", [*SessionReason, "Unschedulable"])
def test_every_reason_has_advice(reason: str) -> None:
    (finding,) = waiting_findings([row("a", 60, reason)])
    assert finding.fix
    assert "{" not in finding.fix
