"""Starts the waiting AISessions of a tenant.

Creates a Job for each session that may start. If a session must wait, writes the reason to its status.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import structlog

from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.plans_in_force import LivePlans
from cluster.tenants import Tenants, known_namespaces
from tenancy.base.errors import InvalidSpec, NotOffered
from tenancy.base.kinds import JOB, RESOURCE_QUOTA
from tenancy.base.manifest import Manifest, ObjectKey, is_deleting, object_key
from tenancy.base.names import session_job_name
from tenancy.base.quota_keys import JOB_KEYS
from tenancy.sessions.capacity import Demand, session_demand, total_demand
from tenancy.sessions.job import is_job_of, selected_model, session_job
from tenancy.sessions.start_order import Candidate, StartDelay, decision
from tenancy.spec.aisession import AISessionSpec, AISessionStatus, SessionReason
from tenancy.spec.effective_settings import effective_settings
from tenancy.spec.settings import TenantSettings
from tenancy.spec.tenant import tenant_from_manifest
from watcher.sessions.live_sessions import LiveSessions, qualified_name, status_of
from watcher.sessions.start_backoff import StartBackoff, refusal_reason

log = structlog.get_logger(__name__)

# The time until an exceeded quota is checked again, as a multiple of the first retry delay. The watcher does
# not watch quotas that the platform does not manage, so it must check them periodically.
_QUOTA_CHECK_FACTOR: Final = 3


class Waiting(NamedTuple):
    """A session without a Job, and its parsed spec."""

    session: Manifest
    spec: AISessionSpec


class Ready(NamedTuple):
    """A session that may start, and the manifest of the Job to create."""

    session: Manifest
    job: Manifest


class Starter:
    """Creates the Jobs of waiting sessions."""

    def __init__(
        self,
        cluster: Cluster,
        live: LiveSessions,
        backoff: StartBackoff,
        tenants: Tenants,
        plans: LivePlans,
        retry_s: float,
    ) -> None:
        self._cluster = cluster
        self._live = live
        self._backoff = backoff
        self._tenants = tenants
        self._plans = plans
        self._quota_check_s = _QUOTA_CHECK_FACTOR * retry_s

    def start(self, tenant: str, waiting: list[Waiting]) -> float | None:
        """Start each session that may start. If a session must wait, write the reason to its status.

        Returns the seconds until the next attempt if the API server rejected a Job or pod, or if a session
        exceeds a quota. Otherwise, returns None: the next change causes the next attempt.
        """
        settings = self._settings(tenant)
        if isinstance(settings, StartDelay):
            for session, _ in waiting:
                self._write_wait(session, settings)
            return None
        ready: dict[ObjectKey, Ready] = {}
        candidates: list[Candidate] = []
        for entry in self._in_built_namespaces(tenant, waiting):
            if job := self._new_job(entry, settings):
                key = object_key(entry.session)
                ready[key] = Ready(entry.session, job)
                created = entry.session["metadata"]["creationTimestamp"]
                candidates.append(Candidate(key, created, session_demand(entry.spec)))
        exceeds_quota = bool(candidates) and self._start_allowed(
            tenant, settings.max_sessions, candidates, ready
        )
        waits_s = [self._backoff.wait_s(session["metadata"]["uid"]) for session, _ in waiting]
        return min(
            (wait_s for wait_s in (*waits_s, self._quota_check_s * exceeds_quota) if wait_s), default=None
        )

    def _settings(self, name: str) -> TenantSettings | StartDelay:
        """The tenant's settings, from its plan and its spec. A StartDelay if no session can start now."""
        manifests = self._tenants.named(name)
        if not manifests:
            return StartDelay(SessionReason.TENANT_NOT_READY, f"Tenant {name} does not exist")
        if is_deleting(manifests[0]):
            return StartDelay(SessionReason.TENANT_TERMINATING, "the tenant is being deleted")
        try:
            tenant = tenant_from_manifest(manifests[0])
            settings = effective_settings(self._plans.current.plan(tenant.spec.plan), tenant.spec)
        except InvalidSpec as error:
            return StartDelay(SessionReason.TENANT_NOT_READY, f"the tenant is invalid: {error}")
        if tenant.spec.paused:
            return StartDelay(SessionReason.TENANT_PAUSED, "the tenant is paused and starts no sessions")
        if tenant.spec.cordoned:
            return StartDelay(SessionReason.TENANT_CORDONED, "the tenant is cordoned and starts no sessions")
        return settings

    def _in_built_namespaces(self, tenant: str, waiting: list[Waiting]) -> Iterator[Waiting]:
        """The sessions in namespaces that the Tenant's status lists. All other sessions must wait.

        The watcher adds a namespace to the status after it has applied all objects in the namespace. Until
        then, the namespace may lack quotas and NetworkPolicies, so a pod in the namespace would not be
        isolated. If a session must wait, this method writes the reason to the session's status.
        """
        built = {name for manifest in self._tenants.named(tenant)[:1] for name in known_namespaces(manifest)}
        for entry in waiting:
            namespace = entry.session["metadata"]["namespace"]
            if namespace in built:
                yield entry
            else:
                message = f"namespace {namespace} is not ready yet; see the status of the tenant"
                self._write_wait(entry.session, StartDelay(SessionReason.TENANT_NOT_READY, message))

    def _new_job(self, entry: Waiting, settings: TenantSettings) -> Manifest | None:
        """The manifest of the Job to create, or None if the session cannot start now.

        If the plans do not offer what the session requests, writes the reason to the session's status.
        """
        session, spec = entry
        if self._backoff.wait_s(session["metadata"]["uid"]):
            return None
        try:
            return session_job(session, spec, self._plans.current.sessions, settings)
        except NotOffered as error:
            # The session waits and does not fail, because the plans or the session's spec may still change.
            self._write_wait(session, StartDelay(SessionReason(error.reason), str(error)))
        return None

    def _start_allowed(
        self, tenant: str, max_sessions: int, candidates: list[Candidate], ready: dict[ObjectKey, Ready]
    ) -> bool:
        """Start the sessions that `max_sessions` and the quotas allow.

        Returns whether a session must wait because it exceeds a quota.
        """
        started = [session for session in self._live.unfinished(tenant) if status_of(session).job]
        active_jobs = self._live.active_jobs(tenant) | {
            (session["metadata"]["namespace"], session_job_name(session["metadata"]["name"]))
            for session in started
        }
        free_slots = max_sessions - len(active_jobs)
        quotas = {
            namespace: self._cluster.list(RESOURCE_QUOTA, namespace=namespace)[0]
            for namespace in {candidate.key.namespace for candidate in candidates}
        }
        result = decision(candidates, free_slots, max_sessions, quotas, self._reserved(started))
        for candidate in result.starts:
            self._start_session(*ready[candidate.key])
        for key, wait in result.waits.items():
            self._write_wait(ready[key].session, wait)
        return any(wait.reason is SessionReason.QUOTA_EXCEEDED for wait in result.waits.values())

    def _reserved(self, started: Iterable[Manifest]) -> dict[str, Demand]:
        """The resources of started sessions whose pods do not exist yet, by namespace.

        ResourceQuotas do not count these pods yet. They already count the Jobs, so the result does not
        include the Jobs.
        """
        demands: dict[str, list[Demand]] = {}
        for session in started:
            job = self._live.job(session)
            if job is None or self._live.pod(job) is None:
                demand = session_demand(AISessionSpec.model_validate(session["spec"]))
                demand.pop(JOB_KEYS[0])
                demands.setdefault(session["metadata"]["namespace"], []).append(demand)
        return {namespace: total_demand(of_namespace) for namespace, of_namespace in demands.items()}

    def _start_session(self, session: Manifest, job: Manifest) -> None:
        name = job["metadata"]["name"]
        try:
            live_job = self._create_job(session, job)
        except ClusterError as error:
            if not error.is_refusal:
                raise
            self._back_off(session, StartDelay(refusal_reason(str(error)), str(error)))
            return
        if live_job is None:
            message = f"another Job has the name {name}: delete it, or create the session with another name"
            self._back_off(session, StartDelay(SessionReason.JOB_EXISTS, message))
        elif self._live.write_status(
            session,
            AISessionStatus(reason=SessionReason.STARTING, job=name, ai_model=selected_model(live_job)),
        ):
            log.info("session started", session=qualified_name(session), job=name)
        else:
            # The session has changed, so the Job was created from an outdated spec.
            self._live.remove_job(live_job)
            log.info("session changed during its start", session=qualified_name(session))

    def _create_job(self, session: Manifest, job: Manifest) -> Manifest | None:
        """Create the Job if the session has no Job yet. Returns the Job in the cluster.

        Returns None if a Job that does not belong to the session has the same name.
        """
        try:
            return self._cluster.create(JOB, job)
        except ClusterError as error:
            if error.status != 409:
                raise
            existing = self._cluster.get(JOB, job["metadata"]["name"], job["metadata"]["namespace"])
            # The API server also responds with 409 after a concurrent update of a quota. No Job exists then.
            if existing is None:
                raise
            return existing if is_job_of(existing, session) else None

    def _back_off(self, session: Manifest, wait: StartDelay) -> None:
        self._backoff.record_refusal(session["metadata"]["uid"])
        self._write_wait(session, wait)

    def _write_wait(self, session: Manifest, wait: StartDelay) -> None:
        self._live.write_status(session, AISessionStatus(reason=wait.reason, message=wait.message))
