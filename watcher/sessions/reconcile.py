"""Reconciles the AISessions of one tenant.

If a session has a Job, the reconciler derives the session's status from the Job, and writes the status. If a
session has no Job, the reconciler creates a Job when the tenant's `maxSessions` and quotas allow it. Older
sessions start first. The module `deletion` deletes the sessions of a deleted tenant.
"""

from datetime import UTC, datetime
from typing import Final

import structlog
from pydantic import ValidationError

from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.live_objects import ManagedObjects, tenant_of
from cluster.plans_in_force import LivePlans
from tenancy.base.kinds import JOB, NAMESPACE, POD
from tenancy.base.labels import SESSION_LABEL, label_value
from tenancy.base.manifest import Manifest, is_deleting
from tenancy.base.validation import validation_message
from tenancy.objects.object_counts import session_limits
from tenancy.sessions.job import first_created, is_job_of, owner_job
from tenancy.sessions.phase import is_finished, is_pod_done, status_from_job, time_text, with_execution_time
from tenancy.spec.aisession import AISessionSpec, AISessionStatus, SessionPhase, SessionReason
from watcher.sessions.deletion import delete_ended
from watcher.sessions.live_sessions import LiveSessions, qualified_name, status_of
from watcher.sessions.start import Starter, Waiting
from watcher.sessions.start_backoff import StartBackoff, pod_refusal, refusal_reason

log = structlog.get_logger(__name__)

# The API server may reject the pod of a Job. The informers do not report this, so the reconciler has to check
# it periodically. These are the shortest and the longest time between two checks. The time grows with the
# Job's age.
_MIN_POD_CHECK_S: Final = 2.0
_MAX_POD_CHECK_S: Final = 30.0


class SessionReconciler:
    def __init__(
        self,
        cluster: Cluster,
        live: LiveSessions,
        backoff: StartBackoff,
        starter: Starter,
        plans: LivePlans,
        managed: ManagedObjects,
    ) -> None:
        self._cluster = cluster
        self._live = live
        self._backoff = backoff
        self._starter = starter
        self._plans = plans
        self._managed = managed

    def reconcile(self, tenant: str) -> float | None:
        """Reconcile the tenant's sessions.

        Returns the seconds until the next reconcile, or None to wait for the next change.
        """
        waiting: list[Waiting] = []
        requeues_s: list[float | None] = []
        for session in self._live.unfinished(tenant):
            try:
                requeues_s.append(self._reconcile_session(tenant, session, waiting))
            except ClusterError as error:
                if not error.is_refusal:
                    raise
                # If the API server rejects a write for one session, the other sessions must not wait.
                log.warning("session status not written", session=qualified_name(session), problem=str(error))
            except (ValueError, OverflowError) as error:
                # Users of the tenant can write the status of the Job and of the pod. The status can contain
                # invalid values, for example a time that is out of range.
                log.warning(
                    "session has an invalid Job or pod", session=qualified_name(session), problem=str(error)
                )
        if waiting:
            requeues_s.append(self._starter.start(tenant, waiting))
        keep_days = self._plans.current.sessions.keep_days
        if ended := self._live.finished(tenant):
            limits = session_limits(self._managed.of(tenant).values())
            unfinished = self._live.unfinished(tenant)
            requeues_s.append(delete_ended(self._cluster, ended, unfinished, limits, keep_days))
        return min((wait_s for wait_s in requeues_s if wait_s is not None), default=None)

    def _reconcile_session(self, tenant: str, session: Manifest, waiting: list[Waiting]) -> float | None:
        try:
            spec = AISessionSpec.model_validate(session["spec"])
        except ValidationError as error:
            message = validation_message(error, "spec")
            self._finish(session, SessionPhase.FAILED, SessionReason.INVALID_SPEC, message)
            return None
        job = self._job(session)
        if job is not None:
            return self._update_from_job(session, spec, job)
        if status_of(session).job is not None:
            message = "the Job was deleted before it finished, or before the watcher read its result"
            self._finish(session, SessionPhase.TERMINATED, SessionReason.JOB_DELETED, message)
        elif self._is_in_own_namespace(tenant, session):
            waiting.append(Waiting(session, spec))
        else:
            namespace = session["metadata"]["namespace"]
            message = f"spec.tenantRef.name: namespace {namespace} does not belong to tenant {tenant}"
            self._finish(session, SessionPhase.FAILED, SessionReason.FOREIGN_NAMESPACE, message)
        return None

    def _update_from_job(self, session: Manifest, spec: AISessionSpec, job: Manifest) -> float | None:
        pod = self._live.pod(job)
        if is_finished(job) and (pod is None or not is_pod_done(pod)):
            pod = self._read_pod(session, job)  # The informer of pods may be behind the informer of Jobs.
        status = status_from_job(status_of(session), spec, job, pod)
        has_pod = pod is not None or bool((job.get("status") or {}).get("active"))
        needs_pod = not (is_finished(job) or is_deleting(job) or job["spec"].get("suspend"))
        if has_pod or not needs_pod:
            self._backoff.forget(session["metadata"]["uid"])
            self._live.write_status(session, status)
            if is_finished(job):
                log.info(
                    "session ended", session=qualified_name(session), phase=status.phase, reason=status.reason
                )
            return None
        problem = pod_refusal(self._cluster, job)
        # The Job controller may have created the pod in a later attempt.
        if problem and self._read_pod(session, job) is None:
            self._withdraw(session, job, problem)
            return self._backoff.wait_s(session["metadata"]["uid"])
        self._live.write_status(session, status)
        created_at: str = job["metadata"]["creationTimestamp"]
        age_s = (datetime.now(UTC) - datetime.fromisoformat(created_at)).total_seconds()
        return min(max(_MIN_POD_CHECK_S, age_s), _MAX_POD_CHECK_S)

    def _withdraw(self, session: Manifest, job: Manifest, problem: str) -> None:
        """Delete a Job whose pod the API server has rejected. The watcher creates a new Job later.

        The time without a Job does not count towards the timeout of the session.
        """
        # Write the status before the deletion. If the status still named the deleted Job, the session would
        # count as terminated.
        wait = AISessionStatus(reason=refusal_reason(problem), message=problem)
        self._live.write_status(session, wait)
        self._live.remove_job(job)
        self._backoff.record_refusal(session["metadata"]["uid"])
        log.info("session waits: pod rejected", session=qualified_name(session), problem=problem)

    def _finish(self, session: Manifest, phase: SessionPhase, reason: SessionReason, message: str) -> None:
        """Write the final status of a session that has no Job."""
        now = time_text(datetime.now(UTC))
        change = {"phase": phase, "reason": reason, "message": message, "completion_time": now}
        self._live.write_status(session, with_execution_time(status_of(session).model_copy(update=change)))
        log.info("session ended", session=qualified_name(session), phase=phase, reason=reason)

    def _job(self, session: Manifest) -> Manifest | None:
        """The session's Job, or None if it does not exist.

        If the session's status contains the name of the Job, but the cache does not contain the Job, reads
        the Job from the API server.
        """
        job = self._live.job(session)
        name = status_of(session).job
        if job is not None or name is None:
            return job
        job = self._cluster.get(JOB, name, session["metadata"]["namespace"])
        return job if job is not None and is_job_of(job, session) else None

    def _read_pod(self, session: Manifest, job: Manifest) -> Manifest | None:
        metadata = session["metadata"]
        selector = f"{SESSION_LABEL}={label_value(metadata['name'])}"
        pods = self._cluster.list(POD, selector, namespace=metadata["namespace"])[0]
        this_job = metadata["namespace"], job["metadata"]["uid"]
        return first_created([pod for pod in pods if owner_job(pod) == this_job])

    def _is_in_own_namespace(self, tenant: str, session: Manifest) -> bool:
        namespace = session["metadata"]["namespace"]
        if self._live.tenant_of_namespace(namespace) == tenant:
            return True
        # It is possible that the informer has not received the namespace yet. So ask the API server before
        # the session fails.
        manifest = self._cluster.get(NAMESPACE, namespace)
        return manifest is not None and tenant_of(manifest) == tenant
