"""The story of a tenant's sessions: one call per turn of the queue.

Those with a Job are followed; those without are started, oldest first, as far as limit and quotas allow. The
controller calls it. Sessions of a tenant that goes are ended in `deletion`.
"""

from datetime import UTC, datetime
from typing import Final

import structlog
from pydantic import ValidationError

from cluster.client import Cluster, ClusterError
from cluster.live_objects import is_ending, tenant_of
from cluster.plans_in_force import LivePlans
from tenancy.base.errors import validation_message
from tenancy.base.kinds import JOB, NAMESPACE, POD
from tenancy.base.manifest import Manifest
from tenancy.base.names import SESSION_LABEL, label_value
from tenancy.sessions.job import is_job_of
from tenancy.sessions.phase import ended, is_finished, is_pod_done, status_from_job, time_text
from tenancy.spec.aisession import AISessionSpec, AISessionStatus, SessionPhase, SessionReason
from watcher.sessions.deletion import drop_old
from watcher.sessions.live_sessions import LiveSessions, first_made, job_of, place, status_of
from watcher.sessions.refused_starts import Refusals, pod_refusal, refusal_reason
from watcher.sessions.start import Starter, Waiting

log = structlog.get_logger(__name__)

# How soon to see whether a Job has got its pod: its coming wakes us, its refusal does not. The older the Job,
# the later.
_POD_S: Final = 2.0
_LAST_POD_S: Final = 30.0


class Turns:
    def __init__(
        self, cluster: Cluster, live: LiveSessions, refusals: Refusals, starter: Starter, plans: LivePlans
    ) -> None:
        self._cluster = cluster
        self._live = live
        self._refusals = refusals
        self._starter = starter
        self._plans = plans

    def turn(self, tenant: str) -> float | None:
        """Returns after how many seconds to look again though nothing has changed; None: never."""
        waiting: list[Waiting] = []
        looks: list[float | None] = []
        for session in self._live.open(tenant):
            try:
                looks.append(self._look_at(tenant, session, waiting))
            except ClusterError as error:
                if not error.is_refusal:
                    raise
                # One that can't be written must not hold up the others.
                log.warning("session not written", session=place(session), problem=str(error))
            except (ValueError, OverflowError) as error:
                # Its Job and its pod are the tenant's to write, with times in them that there are none of.
                log.warning("session not understood", session=place(session), problem=str(error))
        if waiting:
            looks.append(self._starter.start(tenant, waiting))
        looks.append(drop_old(self._cluster, self._live.over(tenant), self._plans.current.sessions.keep_days))
        return min((look for look in looks if look is not None), default=None)

    def _look_at(self, tenant: str, session: Manifest, waiting: list[Waiting]) -> float | None:
        try:
            spec = AISessionSpec.model_validate(session["spec"])
        except ValidationError as error:
            told = ": ".join(validation_message(error, "spec"))
            self._end(session, SessionPhase.FAILED, SessionReason.INVALID_SPEC, told)
            return None
        job = self._job(session)
        if job is not None:
            return self._follow(session, spec, job)
        if status_of(session).job is not None:
            told = "its Job was deleted before it was through, or its end was not seen in time"
            self._end(session, SessionPhase.TERMINATED, SessionReason.JOB_DELETED, told)
        elif self._is_at_home(tenant, session):
            waiting.append(Waiting(session, spec))
        else:
            namespace = session["metadata"]["namespace"]
            told = f"spec.tenantRef.name: namespace {namespace} does not belong to tenant {tenant}"
            self._end(session, SessionPhase.FAILED, SessionReason.FOREIGN_NAMESPACE, told)
        return None

    def _follow(self, session: Manifest, spec: AISessionSpec, job: Manifest) -> float | None:
        pod = self._live.pod(job)
        if is_finished(job) and (pod is None or not is_pod_done(pod)):
            pod = self._read_pod(session, job)  # The watch of pods may lag behind that of Jobs.
        status = status_from_job(status_of(session), spec, job, pod)
        has_pod = pod is not None or bool((job.get("status") or {}).get("active"))
        is_to_have_one = not (is_finished(job) or is_ending(job) or job["spec"].get("suspend"))
        if has_pod or not is_to_have_one:
            self._refusals.forget(session["metadata"]["uid"])
            self._live.write_status(session, status)
            if is_finished(job):
                log.info("session ended", session=place(session), phase=status.phase, reason=status.reason)
            return None
        told = pod_refusal(self._cluster, job)
        # A second try of the Job's may have gone well meanwhile.
        if told and self._read_pod(session, job) is None:
            self._take_back(session, job, told)
            return self._refusals.wait_s(session["metadata"]["uid"])
        self._live.write_status(session, status)
        made: str = job["metadata"]["creationTimestamp"]
        age_s = (datetime.now(UTC) - datetime.fromisoformat(made)).total_seconds()
        return min(max(_POD_S, age_s), _LAST_POD_S)

    def _take_back(self, session: Manifest, job: Manifest, told: str) -> None:
        """The Job goes and the session waits on: its timeout is for work, not for waiting."""
        # Status first: a session that has a Job no more counts as ended by whoever deleted it.
        wait = AISessionStatus(reason=refusal_reason(told), message=told)
        self._live.write_status(session, wait)
        self._live.remove_job(job)
        self._refusals.add(session["metadata"]["uid"])
        log.info("session put back", session=place(session), problem=told)

    def _end(self, session: Manifest, phase: SessionPhase, reason: SessionReason, told: str) -> None:
        """For one that has no Job to tell of its end."""
        now = time_text(datetime.now(UTC))
        change = {"phase": phase, "reason": reason, "message": told, "completion_time": now}
        self._live.write_status(session, ended(status_of(session).model_copy(update=change)))
        log.info("session ended", session=place(session), phase=phase, reason=reason)

    def _job(self, session: Manifest) -> Manifest | None:
        """The session's Job; asked for at the API server where it should be there, and the watch lacks it."""
        found = self._live.job(session)
        name = status_of(session).job
        if found is not None or name is None:
            return found
        found = self._cluster.get(JOB, name, session["metadata"]["namespace"])
        return found if found is not None and is_job_of(found, session) else None

    def _read_pod(self, session: Manifest, job: Manifest) -> Manifest | None:
        metadata = session["metadata"]
        selector = f"{SESSION_LABEL}={label_value(metadata['name'])}"
        found = self._cluster.list(POD, selector, namespace=metadata["namespace"])[0]
        own = metadata["namespace"], job["metadata"]["uid"]
        return first_made([pod for pod in found if job_of(pod) == own])

    def _is_at_home(self, tenant: str, session: Manifest) -> bool:
        namespace = session["metadata"]["namespace"]
        if self._live.tenant_at(namespace) == tenant:
            return True
        # The watch of namespaces may lag behind: nothing is failed for that.
        found = self._cluster.get(NAMESPACE, namespace)
        return found is not None and tenant_of(found) == tenant
