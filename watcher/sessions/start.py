"""Starting sessions: whether the tenant may, which of them may, and their Jobs.

Called by the turns with those that wait. What each of the others waits for is written into its status.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import structlog

from cluster.client import Cluster, ClusterError
from cluster.plans_in_force import LivePlans
from cluster.tenants import Tenants, is_deleting, known_namespaces
from tenancy.base.errors import InvalidSpec, NotOffered
from tenancy.base.kinds import JOB, RESOURCE_QUOTA
from tenancy.base.manifest import Manifest, ObjectKey, object_key
from tenancy.base.names import session_job_name
from tenancy.sessions.capacity import JOBS, Ask, session_ask, sum_of
from tenancy.sessions.job import is_job_of, session_job
from tenancy.sessions.waiting_line import Candidate, Wait, decision
from tenancy.spec.aisession import AISessionSpec, AISessionStatus, SessionReason
from tenancy.spec.settings import TenantSettings, settings_of
from tenancy.spec.tenant import tenant_from_manifest
from watcher.sessions.live_sessions import LiveSessions, place, status_of
from watcher.sessions.refused_starts import Refusals, refusal_reason

log = structlog.get_logger(__name__)

# How soon to look for room again, in first retries: a quota that is not the platform's tells nobody when it
# changes.
_ROOM_RETRIES: Final = 3


class Waiting(NamedTuple):
    session: Manifest
    spec: AISessionSpec


class Ready(NamedTuple):
    """A session that may start, and its Job."""

    session: Manifest
    job: Manifest


class Starter:
    def __init__(
        self,
        cluster: Cluster,
        live: LiveSessions,
        refusals: Refusals,
        tenants: Tenants,
        plans: LivePlans,
        retry_s: float,
    ) -> None:
        self._cluster = cluster
        self._live = live
        self._refusals = refusals
        self._tenants = tenants
        self._plans = plans
        self._room_s = _ROOM_RETRIES * retry_s

    def start(self, tenant: str, waiting: list[Waiting]) -> float | None:
        """Starts those that may. Returns after how many seconds to look again at those that were refused, or
        found no room."""
        settings = self._settings(tenant)
        if isinstance(settings, Wait):
            for session, _ in waiting:
                self._wait(session, settings)
            return None
        ready: dict[ObjectKey, Ready] = {}
        candidates: list[Candidate] = []
        for found in self._in_walls(tenant, waiting):
            if job := self._job(found, settings):
                key = object_key(found.session)
                ready[key] = Ready(found.session, job)
                created = found.session["metadata"]["creationTimestamp"]
                candidates.append(Candidate(key, created, session_ask(found.spec)))
        lacks_room = bool(candidates) and self._start_some(tenant, settings.max_sessions, candidates, ready)
        waits = [self._refusals.wait_s(session["metadata"]["uid"]) for session, _ in waiting]
        return min((wait_s for wait_s in (*waits, self._room_s * lacks_room) if wait_s), default=None)

    def _settings(self, name: str) -> TenantSettings | Wait:
        """What holds for the tenant; or why it starts nothing now."""
        found = self._tenants.named(name)
        if not found:
            return Wait(SessionReason.TENANT_NOT_READY, f"there is no Tenant {name}")
        if is_deleting(found[0]):
            return Wait(SessionReason.TENANT_TERMINATING, "the tenant is being deleted")
        try:
            tenant = tenant_from_manifest(found[0])
            settings = settings_of(self._plans.current.plan(tenant.spec.plan), tenant.spec)
        except InvalidSpec as error:
            return Wait(SessionReason.TENANT_NOT_READY, f"the tenant can't be built: {error}")
        if tenant.spec.paused:
            return Wait(SessionReason.TENANT_PAUSED, "the tenant is paused and starts no sessions")
        if tenant.spec.cordoned:
            return Wait(SessionReason.TENANT_CORDONED, "the tenant is cordoned and starts no sessions")
        return settings

    def _in_walls(self, tenant: str, waiting: list[Waiting]) -> Iterator[Waiting]:
        """Those whose namespace has been built once. Before that it may have neither quotas nor network
        policies, and nothing would hold a pod in it."""
        built = {name for found in self._tenants.named(tenant)[:1] for name in known_namespaces(found)}
        for found in waiting:
            namespace = found.session["metadata"]["namespace"]
            if namespace in built:
                yield found
            else:
                told = f"namespace {namespace} is not built yet; see the tenant's own status"
                self._wait(found.session, Wait(SessionReason.TENANT_NOT_READY, told))

    def _job(self, found: Waiting, settings: TenantSettings) -> Manifest | None:
        """The Job to be made, unless the session can't have one now."""
        session, spec = found
        if self._refusals.wait_s(session["metadata"]["uid"]):
            return None
        try:
            return session_job(session, spec, self._plans.current.sessions, settings)
        except NotOffered as error:
            # Plans and sessions may come together, and a session that waits can still be changed.
            self._wait(session, Wait(SessionReason(error.reason), str(error)))
        return None

    def _start_some(
        self, tenant: str, limit: int, candidates: list[Candidate], ready: dict[ObjectKey, Ready]
    ) -> bool:
        """Whether one found no room."""
        begun = [session for session in self._live.open(tenant) if status_of(session).job]
        busy = self._live.busy_jobs(tenant) | {
            (session["metadata"]["namespace"], session_job_name(session["metadata"]["name"]))
            for session in begun
        }
        free = limit - len(busy)
        quotas = {
            namespace: self._cluster.list(RESOURCE_QUOTA, namespace=namespace)[0]
            for namespace in {candidate.key.namespace for candidate in candidates}
        }
        made = decision(candidates, free, limit, quotas, self._promised(begun))
        for candidate in made.starts:
            self._launch(*ready[candidate.key])
        for key, wait in made.waits.items():
            self._wait(ready[key].session, wait)
        return any(wait.reason is SessionReason.QUOTA_EXCEEDED for wait in made.waits.values())

    def _promised(self, begun: Iterable[Manifest]) -> dict[str, Ask]:
        """By namespace, what goes to pods that are not there yet. Their Jobs are counted already."""
        asks: dict[str, list[Ask]] = {}
        for session in begun:
            job = self._live.job(session)
            if job is None or self._live.pod(job) is None:
                ask = session_ask(AISessionSpec.model_validate(session["spec"]))
                ask.pop(JOBS)
                asks.setdefault(session["metadata"]["namespace"], []).append(ask)
        return {namespace: sum_of(found) for namespace, found in asks.items()}

    def _launch(self, session: Manifest, job: Manifest) -> None:
        name = job["metadata"]["name"]
        try:
            made = self._made(session, job)
        except ClusterError as error:
            if not error.is_refusal:
                raise
            self._refuse(session, Wait(refusal_reason(str(error)), str(error)))
            return
        if made is None:
            told = f"another Job has the name {name}: delete it, or give the session another name"
            self._refuse(session, Wait(SessionReason.JOB_EXISTS, told))
        elif self._live.write_status(session, AISessionStatus(reason=SessionReason.STARTING, job=name)):
            log.info("session started", session=place(session), job=name)
        else:
            # Not what is wanted any more: the Job is of the spec as it was.
            self._live.remove_job(made)
            log.info("session changed while it started", session=place(session))

    def _made(self, session: Manifest, job: Manifest) -> Manifest | None:
        """The session's Job, which may have been made before; None where another has its name."""
        try:
            return self._cluster.create(JOB, job)
        except ClusterError as error:
            if error.status != 409:
                raise
            existing = self._cluster.get(JOB, job["metadata"]["name"], job["metadata"]["namespace"])
            # Quotas that are in use answer with a conflict too, though nothing is there.
            if existing is None:
                raise
            return existing if is_job_of(existing, session) else None

    def _refuse(self, session: Manifest, wait: Wait) -> None:
        self._refusals.add(session["metadata"]["uid"])
        self._wait(session, wait)

    def _wait(self, session: Manifest, wait: Wait) -> None:
        self._live.write_status(session, AISessionStatus(reason=wait.reason, message=wait.message))
