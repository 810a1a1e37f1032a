"""Records Kubernetes Events about AISessions."""

from typing import Final

from cluster.client import Cluster
from cluster.events import NORMAL, WARNING, record_event
from tenancy.base.manifest import Manifest
from tenancy.sessions.status_event import status_event
from tenancy.spec.aisession import FINAL_PHASES, AISessionStatus, SessionPhase

# The maximum number of combinations of phase and reason that are recorded for a session. A limit is needed,
# because users of a tenant can write any reason to the status of a pod.
_MAX_STATES: Final = 32


class SessionEvents:
    """Creates an Event when a session gets a new phase or reason.

    A session can switch between two reasons many times, for example between `ErrImagePull` and
    `ImagePullBackOff`. So each session gets only one Event for each combination of phase and reason.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        # The phases and reasons for which Events exist, by session UID. Only sessions that have not ended.
        self._recorded: dict[str, set[tuple[str, str | None]]] = {}

    def record(self, session: Manifest, previous: AISessionStatus, status: AISessionStatus) -> None:
        """Create an Event about the change of the status from `previous` to `status`, if an Event is needed.

        If the request fails, the method only logs the error.
        """
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
        """Remove the data of a session that has ended or is deleted."""
        self._recorded.pop(uid, None)
