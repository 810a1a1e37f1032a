"""Deletes ended AISessions, and the AISessions of a tenant that is being deleted."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

import structlog

from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.events import NORMAL, record_event
from tenancy.base.kinds import AISESSION, JOB, Kind
from tenancy.base.labels import SESSION_LABEL, TENANT_LABEL
from tenancy.base.manifest import Manifest, is_deleting
from tenancy.sessions.retention import retention
from watcher.sessions.live_sessions import qualified_name

log = structlog.get_logger(__name__)

# The reason of the Event about a session that was deleted to make space.
_DELETED: Final = "Deleted"
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


def delete_ended(
    cluster: Cluster,
    ended: Iterable[Manifest],
    unfinished: Iterable[Manifest],
    limits: Mapping[str, int],
    keep_days: int | None,
) -> float | None:
    """Delete ended sessions that have expired, or that must make space for new sessions.

    The parameters are those of `retention`. Returns the seconds until the next session must be deleted, or
    None if no session will be deleted.
    """
    decision = retention(ended, unfinished, limits, keep_days, datetime.now(UTC))
    for session in decision.expired:
        _try_to_delete(cluster, session, "expired session deleted")
    for session, reason in decision.surplus:
        if _try_to_delete(cluster, session, "ended session deleted to make space"):
            message = f"the session and its result were deleted to make space for new sessions: {reason}"
            record_event(cluster, session, NORMAL, _DELETED, message)
    return decision.next_s


def _try_to_delete(cluster: Cluster, session: Manifest, log_event: str) -> bool:
    """Delete a session. Returns whether the API server has accepted the deletion."""
    try:
        _delete(cluster, AISESSION, session, log_event)
    except ClusterError as error:
        if not error.is_refusal:
            raise
        # Continue with the other sessions. The next reconcile tries to delete this session again.
        log.warning("ended session not deleted", session=qualified_name(session), problem=str(error))
        return False
    return True


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
