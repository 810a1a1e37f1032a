"""Deletes expired AISessions, and the AISessions of a tenant that is being deleted."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

import structlog

from cluster.client import Cluster
from cluster.errors import ClusterError
from tenancy.base.kinds import AISESSION, JOB, Kind
from tenancy.base.labels import SESSION_LABEL, TENANT_LABEL
from tenancy.base.manifest import Manifest, is_deleting
from watcher.sessions.live_sessions import qualified_name

log = structlog.get_logger(__name__)

_DELETED_WITH_TENANT: Final = "object deleted with its tenant"


def delete_sessions(cluster: Cluster, namespaces: Iterable[str], deleted_at: str) -> list[str]:
    """Delete the sessions in these namespaces, and the Jobs of these sessions.

    `deleted_at` is the deletion timestamp of the tenant. Returns the kinds and names of the objects that the
    caller must wait for, e.g. `Job team-a/run-1`. Call this function again until the result is empty. The
    result lists a Job until the pods of the Job are deleted. The result lists a session only in the call that
    deletes the session, and only if the session is not newer than `deleted_at`.
    """
    left: list[str] = []
    for namespace in namespaces:
        # Delete each Job explicitly, before its session. If only the session were deleted, the garbage
        # collector would not wait for the Job's pods. With a finalizer on the session, the Job would even
        # continue to run.
        for job in _listed(cluster, JOB, namespace, SESSION_LABEL):
            if _belongs_to_session(job):
                _delete(cluster, JOB, job, _DELETED_WITH_TENANT)
                left.append(f"Job {qualified_name(job)}")
        for session in _listed(cluster, AISESSION, namespace):
            # The caller must check for Jobs again, because a worker may create the Job of this session at
            # this moment. Sessions that are newer than the deletion of the tenant get no Jobs.
            if not is_deleting(session) and session["metadata"]["creationTimestamp"] <= deleted_at:
                left.append(f"session {qualified_name(session)}")
            _delete(cluster, AISESSION, session, _DELETED_WITH_TENANT)
    return left


def delete_expired(cluster: Cluster, sessions: Iterable[Manifest], keep_days: int | None) -> float | None:
    """Delete sessions that finished more than `keep_days` days ago.

    `sessions` must contain only finished sessions. If `keep_days` is None, sessions never expire. Returns the
    seconds until the next session expires, or None if no session will expire.
    """
    if keep_days is None:
        return None
    keep_time, now = timedelta(days=keep_days), datetime.now(UTC)
    due_s: list[float] = []
    for session in sessions:
        left_s = (_ended_at(session, now) + keep_time - now).total_seconds()
        if left_s > 0:
            due_s.append(left_s)
            continue
        try:
            _delete(cluster, AISESSION, session, "expired session deleted")
        except ClusterError as error:
            if not error.is_refusal:
                raise
            # Continue with the other sessions. The next reconcile tries to delete this session again.
            log.warning("expired session not deleted", problem=str(error))
    return min(due_s, default=None)


def _ended_at(session: Manifest, now: datetime) -> datetime:
    """The completion time of a session. If it is missing or in the future, returns the creation time.

    The completion time comes from the Job's status, so a user may have forged it. If it were in the year
    9999, adding `keep_days` would raise OverflowError.
    """
    created: str = session["metadata"]["creationTimestamp"]
    ended = datetime.fromisoformat(session["status"].get("completionTime") or created)
    return ended if ended <= now else datetime.fromisoformat(created)


def _listed(cluster: Cluster, kind: Kind, namespace: str, selector: str = "") -> list[Manifest]:
    try:
        return cluster.list(kind, selector, namespace=namespace)[0]
    except ClusterError as error:
        if error.status == 404:
            return []  # The kind is not served, so no objects exist.
        raise


def _belongs_to_session(job: Manifest) -> bool:
    """Whether the platform created the Job for an AISession.

    Users can set the session label and owner references, but only the platform can set the tenant label.
    """
    owners = job["metadata"].get("ownerReferences") or ()
    is_from_platform = TENANT_LABEL in (job["metadata"].get("labels") or {})
    return is_from_platform and any(
        owner["kind"] == AISESSION.kind and owner.get("controller") for owner in owners
    )


def _delete(cluster: Cluster, kind: Kind, manifest: Manifest, log_event: str) -> None:
    if is_deleting(manifest):
        return
    metadata = manifest["metadata"]
    cluster.delete(kind, metadata["name"], metadata["namespace"], metadata["uid"], is_foreground=kind == JOB)
    log.info(log_event, kind=kind.kind, name=qualified_name(manifest))
