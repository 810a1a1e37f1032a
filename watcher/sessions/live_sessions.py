"""A cache of the AISessions in the cluster, and of their Jobs and pods. Informers keep the cache current."""

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import Final

from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.informer import Informer
from cluster.live_objects import ManagedObjects, tenant_of
from cluster.tenants import needs_work
from cluster.written_objects import WrittenObjects
from tenancy.base.kinds import AISESSION, JOB, NAMESPACE, POD
from tenancy.base.labels import SESSION_LABEL
from tenancy.base.manifest import Manifest, ObjectKey, is_deleting, object_key
from tenancy.base.names import session_job_name
from tenancy.sessions.job import controller_job, first_created, is_job_of, owner_job
from tenancy.sessions.phase import is_finished, is_pod_done
from tenancy.sessions.row import SessionRow, session_row, sorted_rows, tenant_ref_name
from tenancy.spec.aisession import FINAL_PHASES, AISessionStatus, SessionPhase
from watcher.sessions.events import SessionEvents

_FINAL: Final = frozenset(phase.value for phase in FINAL_PHASES)


def qualified_name(manifest: Manifest) -> str:
    """The namespace and name of an object for messages, e.g. `team-a/run-1`."""
    return f"{manifest['metadata']['namespace']}/{manifest['metadata']['name']}"


def status_of(session: Manifest) -> AISessionStatus:
    return AISessionStatus.model_validate(session.get("status") or {})


class LiveSessions:
    """The AISessions in the cluster, by the tenant in `spec.tenantRef`. Thread-safe.

    `unfinished` returns each session with the newest status that this process has written, even if the
    informer has not received this status yet.
    """

    def __init__(self, cluster: Cluster, namespaces: Informer, on_change: Callable[[str], None]) -> None:
        """`on_change` is called with the name of a tenant whose sessions must be reconciled.

        `namespaces` is the informer of the namespaces that belong to tenants.
        """
        self._cluster = cluster
        self._namespaces = namespaces
        self._on_change = on_change
        self._on_update: Callable[[str], None] = lambda _: None
        self._change_counts: Counter[str] = Counter()
        self._events = SessionEvents(cluster)
        self._lock = threading.Lock()
        self._by_tenant: defaultdict[str, dict[ObjectKey, Manifest]] = defaultdict(dict)
        self._jobs = ManagedObjects()
        # The pods of each Job, by namespace and UID of the Job. The UID alone is not enough, because a pod in
        # another namespace could have an owner reference with the same UID.
        self._pods: defaultdict[tuple[str, str], dict[ObjectKey, Manifest]] = defaultdict(dict)
        self._written = WrittenObjects()
        self._removed_job_uids: set[str] = set()
        self.informers = (
            Informer(cluster, AISESSION, self._session_changed),
            Informer(cluster, JOB, self._job_changed, SESSION_LABEL),
            Informer(cluster, POD, self._pod_changed, SESSION_LABEL),
        )

    def follow(self, on_update: Callable[[str], None]) -> None:
        """Make this object call `on_update` with the tenant's name after each change to a session."""
        self._on_update = on_update

    def rows(self, tenant: str) -> list[SessionRow]:
        """The tenant's sessions in the tenant's own namespaces, as rows for the web page."""
        with self._lock:
            sessions = list(self._by_tenant.get(tenant, {}).values())
        rows = [session_row(session) for session in sessions]
        return sorted_rows([row for row in rows if self.tenant_of_namespace(row.namespace) == tenant])

    def change_count(self, tenant: str) -> int:
        """The number of changes to the tenant's sessions since the watcher started."""
        return self._change_counts[tenant]

    def unfinished(self, tenant: str) -> list[Manifest]:
        """The tenant's sessions that have not finished and are not being deleted."""
        with self._lock:
            sessions = [self._written.newest(session) for session in self._by_tenant.get(tenant, {}).values()]
        return [session for session in sessions if not is_deleting(session) and not _is_final(session)]

    def finished(self, tenant: str) -> list[Manifest]:
        """The tenant's sessions that have finished and are not being deleted."""
        with self._lock:
            sessions = list(self._by_tenant.get(tenant, {}).values())
        return [session for session in sessions if _is_final(session) and not is_deleting(session)]

    def phase_counts(self) -> Mapping[str, int]:
        """The number of sessions in each phase."""
        with self._lock:
            sessions = [session for by_key in self._by_tenant.values() for session in by_key.values()]
        counts = Counter(
            (session.get("status") or {}).get("phase", SessionPhase.PENDING) for session in sessions
        )
        return {phase.value: counts[phase.value] for phase in SessionPhase}

    def tenant_of_namespace(self, namespace: str) -> str:
        """The name of the tenant that owns the namespace. Empty if the namespace belongs to no tenant."""
        manifest = self._namespaces.get(ObjectKey(NAMESPACE.kind, "", namespace))
        return tenant_of(manifest) if manifest else ""

    def job(self, session: Manifest) -> Manifest | None:
        metadata = session["metadata"]
        key = ObjectKey(JOB.key, metadata["namespace"], session_job_name(metadata["name"]))
        job = self.informers[1].get(key)
        if job is None or not is_job_of(job, session) or job["metadata"]["uid"] in self._removed_job_uids:
            return None
        return job

    def pod(self, job: Manifest) -> Manifest | None:
        metadata = job["metadata"]
        with self._lock:
            pods = self._pods.get((metadata["namespace"], metadata["uid"]), {})
            return first_created(list(pods.values()))

    def active_jobs(self, tenant: str) -> set[tuple[str, str]]:
        """The namespace and name of each Job that counts towards the tenant's `maxSessions`.

        A Job counts if it has not finished, even if its session is deleted. A Job also counts if one of its
        pods has not finished, even if the Job is deleted or its status says that it has finished. Users of
        the tenant can delete a Job or forge its status.
        """
        jobs = self._jobs.of(tenant)
        with self._lock:
            pods = [pod for by_key in self._pods.values() for pod in by_key.values()]
        jobs_with_pods = {
            (pod["metadata"]["namespace"], owner["name"])
            for pod in pods
            if (owner := controller_job(pod)) and not is_pod_done(pod)
        }
        return {(key.namespace, key.name) for key, job in jobs.items() if not is_finished(job)} | {
            (namespace, name)
            for namespace, name in jobs_with_pods
            if self.tenant_of_namespace(namespace) == tenant
        }

    def write_status(self, session: Manifest, status: AISessionStatus) -> bool:
        """Write the status if it has changed. Create an Event if the phase or the reason is new.

        Returns False without writing the status if `session` is outdated: the session was deleted or created
        again, or it has a new spec. The informer then receives this change and causes another reconcile.
        """
        new_status = status.model_dump(by_alias=True, mode="json", exclude_none=True)
        if session.get("status") == new_status:
            return True
        metadata = session["metadata"]
        namespace = metadata["namespace"]
        # The patch fails if the session has been recreated or its spec has changed.
        expected = {field: metadata[field] for field in ("uid", "generation")}
        tests = [
            {"op": "test", "path": f"/metadata/{field}", "value": value} for field, value in expected.items()
        ]
        change = [*tests, {"op": "add", "path": "/status", "value": new_status}]
        try:
            written = self._cluster.patch(
                AISESSION, metadata["name"], change, subresource="status", namespace=namespace
            )
        except ClusterError:
            live = self._cluster.get(AISESSION, metadata["name"], namespace)
            if live is None or any(live["metadata"][field] != value for field, value in expected.items()):
                return False
            raise
        self._written.put(written)
        self._events.record(written, status_of(session), status)
        return True

    def remove_job(self, job: Manifest) -> None:
        """Delete the Job.

        From now on, the method `job` ignores this Job, even before the informer receives the deletion.
        """
        metadata = job["metadata"]
        self._removed_job_uids.add(metadata["uid"])
        self._cluster.delete(JOB, metadata["name"], metadata["namespace"], metadata["uid"])

    def _session_changed(self, before: Manifest | None, after: Manifest | None) -> None:
        with self._lock:
            if before is not None:
                self._by_tenant[tenant_ref_name(before)].pop(object_key(before), None)
            if after is not None:
                self._by_tenant[tenant_ref_name(after)][object_key(after)] = after
            if (known := before or after) and (after is None or self._written.newest(after) is after):
                self._written.forget(known)
        if before is not None and after is None:
            self._events.forget(before["metadata"]["uid"])
        # A session whose spec names no tenant is not reconciled.
        for tenant in {tenant_ref_name(session) for session in (before, after) if session} - {""}:
            self._change_counts[tenant] += 1
            self._on_update(tenant)
            if after is None or needs_work(before, after):
                self._on_change(tenant)

    def _job_changed(self, before: Manifest | None, after: Manifest | None) -> None:
        self._jobs.put(before, after)
        if before is not None and after is None:
            self._removed_job_uids.discard(before["metadata"]["uid"])
        self._notify_tenant(before, after)

    def _pod_changed(self, before: Manifest | None, after: Manifest | None) -> None:
        with self._lock:
            if before is not None and (pods := self._pods.get(owner_job(before))):
                pods.pop(object_key(before), None)
                if not pods:
                    del self._pods[owner_job(before)]
            if after is not None:
                self._pods[owner_job(after)][object_key(after)] = after
        self._notify_tenant(before, after)

    def _notify_tenant(self, before: Manifest | None, after: Manifest | None) -> None:
        if (known := after or before) and (
            tenant := self.tenant_of_namespace(known["metadata"]["namespace"])
        ):
            self._on_change(tenant)


def _is_final(session: Manifest) -> bool:
    return (session.get("status") or {}).get("phase") in _FINAL
