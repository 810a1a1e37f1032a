"""Sessions that go: all of a deleted tenant, before its stack is destroyed; and those that ended long ago.

Called by the terminator and by the turns.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

import structlog

from cluster.client import Cluster, ClusterError
from cluster.live_objects import is_ending
from tenancy.base.kinds import AISESSION, JOB, Kind
from tenancy.base.manifest import Manifest
from tenancy.base.names import SESSION_LABEL
from watcher.sessions.live_sessions import place

log = structlog.get_logger(__name__)

_WITH_TENANT: Final = "ended with its tenant"


def end_sessions(cluster: Cluster, namespaces: Iterable[str], deleted_at: str) -> list[str]:
    """Deletes the sessions in these namespaces and their Jobs. Returns what has to be waited for: Jobs whose
    pods have not ended yet, and sessions that were there when the tenant was deleted."""
    left: list[str] = []
    for namespace in namespaces:
        # Before their sessions: the garbage collector would not wait for their pods, and a finalizer on a
        # session would keep its Job running.
        for job in _found(cluster, JOB, namespace, SESSION_LABEL):
            if _is_a_sessions(job):
                _delete(cluster, JOB, job, _WITH_TENANT)
                left.append(f"Job {place(job)}")
        for session in _found(cluster, AISESSION, namespace):
            # Looked for once more: its Job may just be in the making. None is made of a younger one.
            if not is_ending(session) and session["metadata"]["creationTimestamp"] <= deleted_at:
                left.append(f"session {place(session)}")
            _delete(cluster, AISESSION, session, _WITH_TENANT)
    return left


def drop_old(cluster: Cluster, sessions: Iterable[Manifest], keep_days: int | None) -> float | None:
    """Deletes those of these ended sessions that were kept long enough. Returns the seconds until the next
    one is due; None: there is none."""
    if keep_days is None:
        return None
    limit, now = timedelta(days=keep_days), datetime.now(UTC)
    due_s: list[float] = []
    for session in sessions:
        ended = session["status"].get("completionTime") or session["metadata"]["creationTimestamp"]
        left_s = (datetime.fromisoformat(ended) + limit - now).total_seconds()
        if left_s > 0:
            due_s.append(left_s)
            continue
        try:
            _delete(cluster, AISESSION, session, "old session dropped")
        except ClusterError as error:
            if not error.is_refusal:
                raise
            # The next look tries it again; what runs must not wait for that.
            log.warning("old session not dropped", problem=str(error))
    return min(due_s, default=None)


def _found(cluster: Cluster, kind: Kind, namespace: str, selector: str = "") -> list[Manifest]:
    try:
        return cluster.list(kind, selector, namespace=namespace)[0]
    except ClusterError as error:
        if error.status == 404:
            return []  # The kind is not served: there are none.
        raise


def _is_a_sessions(job: Manifest) -> bool:
    """The label alone is anybody's to set."""
    owners = job["metadata"].get("ownerReferences") or ()
    return any(owner["kind"] == AISESSION.kind and owner.get("controller") for owner in owners)


def _delete(cluster: Cluster, kind: Kind, found: Manifest, told: str) -> None:
    if is_ending(found):
        return
    metadata = found["metadata"]
    cluster.delete(kind, metadata["name"], metadata["namespace"], metadata["uid"], is_foreground=kind == JOB)
    log.info(told, kind=kind.kind, name=place(found))
