"""Finds AISessions that have been Pending for a long time."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from cli.connection import Connection
from cli.doctor.finding import CheckResult, ok, warning
from cli.sessions.read import read_sessions
from cli.sessions.text import advice, session_age
from tenancy.sessions.row import SessionRow, session_row, sorted_rows
from tenancy.spec.aisession import SessionPhase

# A session that can start does so within seconds. Large images may take minutes.
_LONG_WAIT_S: Final = 300.0


def check_sessions(connection: Connection) -> list[CheckResult]:
    rows = [session_row(session) for session in read_sessions(connection.cluster)]
    counts = {phase: sum(row.phase is phase for row in rows) for phase in SessionPhase}
    summary = f"{counts[SessionPhase.RUNNING]} running, {counts[SessionPhase.PENDING]} pending"
    return [ok("sessions", f"{len(rows)} in total, {summary}"), *waiting_findings(rows)]


def waiting_findings(rows: Iterable[SessionRow]) -> list[CheckResult]:
    """Warn about sessions that have been Pending for more than `_LONG_WAIT_S` seconds.

    Each warning is about all such sessions of one tenant that have the same reason. It names the session that
    has waited longest, and contains the number of the other sessions.
    """
    now = datetime.now(UTC)
    groups: dict[tuple[str, str], list[SessionRow]] = {}
    for row in sorted_rows(list(rows)):
        wait_s = (now - datetime.fromisoformat(row.created)).total_seconds()
        if row.phase is SessionPhase.PENDING and wait_s > _LONG_WAIT_S:
            groups.setdefault((row.tenant, row.reason), []).append(row)
    return [_finding(tenant, group) for (tenant, _), group in sorted(groups.items())]


def _finding(tenant: str, rows: list[SessionRow]) -> CheckResult:
    oldest, others = rows[0], len(rows) - 1
    more = f" (and {others} more sessions of the tenant)" if others else ""
    cause = f"{oldest.reason}: {oldest.message}" if oldest.reason else "it has no status"
    message = (
        f"session {oldest.namespace}/{oldest.name} has been Pending for {session_age(oldest)}{more}: {cause}"
    )
    return warning(f"tenant {tenant}", message, advice(oldest))
