"""The data of an AISession that `tenancy sessions`, `tenancy show` and the web page display.

The data does not include the session's result, because not every user who can see the session may read its
result.
"""

from collections.abc import Sequence

from tenancy.base.manifest import Manifest
from tenancy.base.model import Model
from tenancy.spec.aisession import FINAL_PHASES, SessionPhase


class SessionRow(Model):
    """A session in a list. Field names in JSON are camelCase."""

    namespace: str
    name: str
    tenant: str
    session_type: str
    # The model that the session uses. Before the Job exists, it is the model in the spec, which can be empty.
    ai_model: str = ""
    phase: SessionPhase
    # Empty if there is no reason, or the watcher has not reconciled the session yet.
    reason: str = ""
    message: str = ""
    created: str
    start_time: str | None = None
    completion_time: str | None = None

    @property
    def is_active(self) -> bool:
        """Whether the session is waiting or running."""
        return self.phase not in FINAL_PHASES


def tenant_ref_name(session: Manifest) -> str:
    """`spec.tenantRef.name` of an AISession. Empty if an older CRD allowed a session without this field."""
    name = ((session.get("spec") or {}).get("tenantRef") or {}).get("name")
    return name if isinstance(name, str) else ""


def session_row(session: Manifest) -> SessionRow:
    metadata, spec, status = session["metadata"], session.get("spec") or {}, session.get("status") or {}
    return SessionRow(
        namespace=metadata["namespace"],
        name=metadata["name"],
        tenant=tenant_ref_name(session),
        session_type=spec.get("sessionType") or "",
        ai_model=status.get("aiModel") or spec.get("aiModel") or "",
        phase=SessionPhase(status.get("phase") or SessionPhase.PENDING),
        reason=status.get("reason") or "",
        message=status.get("message") or "",
        created=metadata["creationTimestamp"],
        start_time=status.get("startTime"),
        completion_time=status.get("completionTime"),
    )


def sorted_rows(rows: Sequence[SessionRow]) -> list[SessionRow]:
    """The rows in this order: waiting sessions, running sessions, ended sessions.

    Waiting sessions and running sessions are sorted oldest first. Ended sessions are sorted newest first.
    """
    active = sorted((row for row in rows if row.is_active), key=_start_order)
    ended = sorted((row for row in rows if not row.is_active), key=_end_order, reverse=True)
    return [*active, *ended]


def _start_order(row: SessionRow) -> tuple[bool, str, str, str]:
    return row.phase is not SessionPhase.PENDING, row.created, row.namespace, row.name


def _end_order(row: SessionRow) -> tuple[str, str, str]:
    return row.completion_time or row.created, row.namespace, row.name
