"""Records Kubernetes Events about AISessions."""

from typing import Final

from cluster.client import Cluster
from cluster.events import NORMAL, WARNING, record_event
from tenancy.base.manifest import Manifest
from tenancy.sessions.status_event import status_event
from tenancy.spec.aisession import FINAL_PHASES, AISessionStatus, SessionPhase

# The maximum number of recorded phases and reasons of a session. A limit is needed, because users of a tenant
# can write any reason to the status of a pod.
_MAX_STATES: Final = 32


class SessionEvents:
    """Records an Event when a session gets a new phase or reason.

    A session can switch between two reasons many times, for example between `ErrImagePull` and
    `ImagePullBackOff`. So each combination of phase and reason is recorded only once for a session.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        # The recorded phases and reasons of each session that has not ended, by session UID.
        self._recorded: dict[str, set[tuple[str, str | None]]] = {}

    def record(self, session: Manifest, previous: AISessionStatus, status: AISessionStatus) -> None:
        """Record the change of the status from `previous` to `status`. Errors are logged and not raised."""
        event, uid = status_event(status), session["metadata"]["uid"]
        if event is None:
            return
        recorded = self._recorded.setdefault(uid, {(previous.phase.value, previous.reason)})
        state = (status.phase.value, status.reason)
        is_one_too_many = status.phase is SessionPhase.PENDING and len(recorded) >= _MAX_STATES
        if state not in recorded and not is_one_too_many:
            recorded.add(state)
            severity = WARNING if event.is_warning else NORMAL
            record_event(self._cluster, session, severity, event.reason, event.message)
        if status.phase in FINAL_PHASES:
            self.forget(uid)

    def forget(self, uid: str) -> None:
        """Forget a session that has ended or is deleted."""
        self._recorded.pop(uid, None)
