"""Formats AISessions for tables and for `tenancy sessions show`, with advice for Pending sessions."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from rich.text import Text

from cli.times import age, display_time
from tenancy.base.manifest import Manifest
from tenancy.base.names import session_job_name
from tenancy.sessions.row import SessionRow, session_row
from tenancy.spec.aisession import SessionPhase, SessionReason

EVENT_COLUMNS: Final = ("TYPE", "REASON", "WHEN", "MESSAGE")
SESSION_COLUMNS: Final = ("NAMESPACE", "NAME", "MODEL", "PHASE", "REASON", "AGE")
WIDE_SESSION_COLUMNS: Final = (*SESSION_COLUMNS, "TENANT", "TYPE", "MESSAGE")
_STYLES: Final = {
    SessionPhase.PENDING: "yellow",
    SessionPhase.RUNNING: "green",
    SessionPhase.COMPLETED: "green",
    SessionPhase.FAILED: "bold red",
    SessionPhase.TERMINATED: "bold red",
}
# The instruction or the command that helps with a Pending session, by the reason in its status.
_ADVICE: Final[dict[str, str]] = {
    SessionReason.QUEUED: "wait, cancel another session (`tenancy sessions cancel`), or raise `maxSessions` "
    "of the tenant or its plan",
    SessionReason.QUOTA_EXCEEDED: "wait, raise the quota, or create the session with less CPU and memory",
    SessionReason.NOT_CONFIGURED: "add the session type to `sessions.types` in the plans file",
    SessionReason.UNKNOWN_MODEL: "change `spec.aiModel`, or add the model to `sessions.models` in the plans "
    "file",
    SessionReason.POD_REFUSED: "fix the cause in the message; the watcher then starts the session",
    SessionReason.JOB_EXISTS: "delete the other Job, or create the session with another name",
    SessionReason.TENANT_NOT_READY: "tenancy show {tenant}",
    SessionReason.TENANT_PAUSED: "tenancy resume {tenant}",
    SessionReason.TENANT_CORDONED: "set `spec.cordoned: false` in the Tenant {tenant}",
    SessionReason.TENANT_TERMINATING: "tenancy show {tenant}",
}


def session_cells(row: SessionRow) -> tuple[str | Text, ...]:
    """The cells of a session's table row, in the order of SESSION_COLUMNS."""
    phase = Text(row.phase.value, style=_STYLES[row.phase])
    return row.namespace, row.name, row.ai_model or "-", phase, row.reason or "-", session_age(row)


def wide_session_cells(row: SessionRow) -> tuple[str | Text, ...]:
    """The cells of a session's table row, in the order of WIDE_SESSION_COLUMNS."""
    return *session_cells(row), row.tenant, row.session_type, row.message or "-"


def session_age(row: SessionRow) -> str:
    return age(datetime.fromisoformat(row.created))


def cause(row: SessionRow) -> str:
    """The reason and the message in the session's status, as `REASON: MESSAGE`. Empty if both are missing."""
    return ": ".join(part for part in (row.reason, row.message) if part)


def advice(row: SessionRow) -> str:
    """An instruction or a command that helps the user with a session that is Pending."""
    if not row.reason:
        return "check that the watcher is running, because it has not reconciled the session yet"
    command = f"kubectl -n {row.namespace} describe pods -l job-name={session_job_name(row.name)}"
    return _ADVICE.get(row.reason, command).format(tenant=row.tenant)


def detail_lines(session: Manifest) -> Iterator[tuple[str, str]]:
    """The labels and values that `tenancy sessions show` prints about a session, without its result."""
    row, spec, status = session_row(session), session["spec"], session.get("status") or {}
    yield "Namespace", row.namespace
    yield "Tenant", row.tenant
    yield "Phase", row.phase.value
    if row.reason or row.message:
        yield "Reason", cause(row)
    if row.phase is SessionPhase.PENDING and row.reason != SessionReason.STARTING:
        yield "To do", advice(row)
    yield "Type", row.session_type
    yield "Model", row.ai_model or "not selected yet"
    # The CRD sets defaults for these fields.
    yield "Resources", f"{spec['resources']['cpu']} CPU, {spec['resources']['memory']} memory"
    yield "Timeout", spec["timeout"]
    yield "Age", session_age(row)
    for field, time in (("Started", row.start_time), ("Ended", row.completion_time)):
        if time:
            yield field, display_time(time)
    metrics = (status.get("results") or {}).get("metrics") or {}
    for field, key in (("Duration", "executionTime"), ("Tokens", "tokensUsed")):
        if key in metrics:
            yield field, str(metrics[key])
    if "job" in status:
        yield "Job", status["job"]


def event_cells(event: dict[str, str]) -> tuple[str, ...]:
    """The cells of an Event's table row, in the order of EVENT_COLUMNS. `event` comes from `read_events`."""
    time = event["lastTimestamp"]
    return event["type"], event["reason"], display_time(time) if time else "-", event["message"]
