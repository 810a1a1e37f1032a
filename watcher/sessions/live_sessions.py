"""The live AISessions by the tenant that they name, and the Jobs and pods that run them.

Fed by its own informers and read by the turns. It decides nothing.
"""

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import Final

from cluster.client import Cluster, ClusterError
from cluster.informer import Informer
from cluster.live_objects import ManagedObjects, is_ending, tenant_of
from cluster.tenants import needs_work
from tenancy.base.kinds import AISESSION, JOB, NAMESPACE, POD
from tenancy.base.manifest import Manifest, ObjectKey, object_key
from tenancy.base.names import SESSION_LABEL, session_job_name
from tenancy.sessions.job import is_job_of
from tenancy.sessions.phase import is_finished, is_pod_done
from tenancy.spec.aisession import FINAL_PHASES, AISessionStatus, SessionPhase

_FINAL: Final = frozenset(phase.value for phase in FINAL_PHASES)


def tenant_named(session: Manifest) -> str:
    name: str = session["spec"]["tenantRef"]["name"]
    return name


def place(found: Manifest) -> str:
    """Where an object is, for people."""
    return f"{found['metadata']['namespace']}/{found['metadata']['name']}"


def status_of(session: Manifest) -> AISessionStatus:
    return AISessionStatus.model_validate(session.get("status") or {})


class LiveSessions:
    """What the watcher knows of sessions, its own latest writes included."""

    def __init__(self, cluster: Cluster, namespaces: Informer, on_change: Callable[[str], None]) -> None:
        """`on_change` is called with the name of the tenant that has to look."""
        self._cluster = cluster
        self._namespaces = namespaces
        self._on_change = on_change
        self._guard = threading.Lock()
        self._by_tenant: defaultdict[str, dict[ObjectKey, Manifest]] = defaultdict(dict)
        self._jobs = ManagedObjects()
        # By the namespace and the uid of their Job: a uid alone can be named from anywhere.
        self._pods: defaultdict[tuple[str, str], dict[ObjectKey, Manifest]] = defaultdict(dict)
        self._written: dict[str, Manifest] = {}
        self._removed: set[str] = set()
        self.informers = (
            Informer(cluster, AISESSION, self._session_changed),
            Informer(cluster, JOB, self._job_changed, SESSION_LABEL),
            Informer(cluster, POD, self._pod_changed, SESSION_LABEL),
        )

    def open(self, tenant: str) -> list[Manifest]:
        """The tenant's sessions that have not ended, and are not being deleted."""
        with self._guard:
            found = [self._newest(session) for session in self._by_tenant.get(tenant, {}).values()]
        return [session for session in found if not is_ending(session) and not _is_final(session)]

    def over(self, tenant: str) -> list[Manifest]:
        """The tenant's sessions that have ended, and are not being deleted."""
        with self._guard:
            found = list(self._by_tenant.get(tenant, {}).values())
        return [session for session in found if _is_final(session) and not is_ending(session)]

    def phases(self) -> Mapping[str, int]:
        """How many sessions are in each phase."""
        with self._guard:
            found = [session for sessions in self._by_tenant.values() for session in sessions.values()]
        counted = Counter(
            (session.get("status") or {}).get("phase", SessionPhase.PENDING) for session in found
        )
        return {phase.value: counted[phase.value] for phase in SessionPhase}

    def tenant_at(self, namespace: str) -> str:
        """The tenant whose namespace it is; empty where it is nobody's."""
        found = self._namespaces.get(ObjectKey(NAMESPACE.kind, "", namespace))
        return tenant_of(found) if found else ""

    def job(self, session: Manifest) -> Manifest | None:
        metadata = session["metadata"]
        key = ObjectKey(JOB.key, metadata["namespace"], session_job_name(metadata["name"]))
        found = self.informers[1].get(key)
        if found is None or not is_job_of(found, session) or found["metadata"]["uid"] in self._removed:
            return None
        return found

    def pod(self, job: Manifest) -> Manifest | None:
        metadata = job["metadata"]
        with self._guard:
            found = self._pods.get((metadata["namespace"], metadata["uid"]), {})
            return first_made(list(found.values()))

    def busy_jobs(self, tenant: str) -> set[tuple[str, str]]:
        """Namespace and name of each Job that is not through, also of sessions that are gone; and of those
        that are gone, or say that they are through, but for their pods: a Job's status can be written by the
        tenant's people."""
        jobs = self._jobs.of(tenant)
        with self._guard:
            pods = [pod for found in self._pods.values() for pod in found.values()]
        left = {
            (pod["metadata"]["namespace"], owner["name"])
            for pod in pods
            if (owner := _controller(pod)) and not is_pod_done(pod)
        }
        return {(key.namespace, key.name) for key, job in jobs.items() if not is_finished(job)} | {
            home for home in left if self.tenant_at(home[0]) == tenant
        }

    def write_status(self, session: Manifest, status: AISessionStatus) -> bool:
        """Nothing is written where nothing changes. Returns False where the session is gone, or another by
        now: its change has it looked at again."""
        wanted = status.model_dump(by_alias=True, mode="json", exclude_none=True)
        if session.get("status") == wanted:
            return True
        metadata = session["metadata"]
        home = {"namespace": metadata["namespace"]}
        # Only the session that was judged: not a namesake made meanwhile, nor one with another spec.
        judged = {field: metadata[field] for field in ("uid", "generation")}
        tests = [
            {"op": "test", "path": f"/metadata/{field}", "value": value} for field, value in judged.items()
        ]
        change = [*tests, {"op": "add", "path": "/status", "value": wanted}]
        try:
            written = self._cluster.patch(AISESSION, metadata["name"], change, subresource="status", **home)
        except ClusterError:
            now = self._cluster.get(AISESSION, metadata["name"], **home)
            if now is None or any(now["metadata"][field] != value for field, value in judged.items()):
                return False
            raise
        with self._guard:
            self._written[metadata["uid"]] = written
        return True

    def remove_job(self, job: Manifest) -> None:
        """The Job counts as gone from now on, though the watch may still have it."""
        metadata = job["metadata"]
        self._removed.add(metadata["uid"])
        self._cluster.delete(JOB, metadata["name"], metadata["namespace"], metadata["uid"])

    def _newest(self, seen: Manifest) -> Manifest:
        """The object as we wrote it last, until the watch has caught up with that."""
        written = self._written.get(seen["metadata"]["uid"])
        return written if written is not None and _version(written) > _version(seen) else seen

    def _session_changed(self, before: Manifest | None, after: Manifest | None) -> None:
        with self._guard:
            if before is not None:
                self._by_tenant[tenant_named(before)].pop(object_key(before), None)
            if after is not None:
                self._by_tenant[tenant_named(after)][object_key(after)] = after
            if (known := before or after) and (after is None or self._newest(after) is after):
                self._written.pop(known["metadata"]["uid"], None)
        if after is None or needs_work(before, after):
            for tenant in {tenant_named(found) for found in (before, after) if found}:
                self._on_change(tenant)

    def _job_changed(self, before: Manifest | None, after: Manifest | None) -> None:
        self._jobs.put(before, after)
        if before is not None and after is None:
            self._removed.discard(before["metadata"]["uid"])
        self._tell_home(before, after)

    def _pod_changed(self, before: Manifest | None, after: Manifest | None) -> None:
        with self._guard:
            if before is not None and (found := self._pods.get(job_of(before))):
                found.pop(object_key(before), None)
                if not found:
                    del self._pods[job_of(before)]
            if after is not None:
                self._pods[job_of(after)][object_key(after)] = after
        self._tell_home(before, after)

    def _tell_home(self, before: Manifest | None, after: Manifest | None) -> None:
        if (found := after or before) and (tenant := self.tenant_at(found["metadata"]["namespace"])):
            self._on_change(tenant)


def _is_final(session: Manifest) -> bool:
    return (session.get("status") or {}).get("phase") in _FINAL


def first_made(pods: list[Manifest]) -> Manifest | None:
    """The Job's own pod: it makes no second one, and what came later says so without being it."""
    return min(pods, key=lambda pod: str(pod["metadata"]["creationTimestamp"]), default=None)


def _controller(pod: Manifest) -> Manifest | None:
    """The Job that the pod says it was made by."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller") and owner["kind"] == JOB.kind), None)


def job_of(pod: Manifest) -> tuple[str, str]:
    """The namespace and the uid of the Job that the pod says it was made by."""
    owner = _controller(pod)
    return pod["metadata"]["namespace"], owner["uid"] if owner else ""


def _version(manifest: Manifest) -> int:
    return int(manifest["metadata"]["resourceVersion"])
