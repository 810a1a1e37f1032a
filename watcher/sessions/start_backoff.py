"""Handles AISessions whose Job or pod the API server rejects: reads the reason, and delays the next attempt.

For example, the pod exceeds a quota that the watcher could not check, or the pod's image is from a registry
that is not allowed. In this case, the session waits, and the watcher tries to start it again later.
"""

import time
from typing import Final

from cluster.client import Cluster
from tenancy.base.backoff import SESSION_START, Backoff
from tenancy.base.kinds import EVENT
from tenancy.base.manifest import Manifest
from tenancy.spec.aisession import SessionReason

# How long the entry of a session is kept after its retry delay has ended. The watcher tries to start a
# waiting session soon after the delay. So a session with an older entry usually no longer exists.
_FORGET_AFTER_S: Final = 600.0


def pod_refusal(cluster: Cluster, job: Manifest) -> str:
    """Why the Job has no pod: the message of the Job's newest Event with the reason FailedCreate.

    Empty if the Job has no such Event.
    """
    metadata = job["metadata"]
    # The API server filters the Events, because a namespace may have thousands of other Events.
    fields = f"reason=FailedCreate,involvedObject.uid={metadata['uid']}"
    events = cluster.list(EVENT, namespace=metadata["namespace"], fields=fields)[0]
    newest = max(events, key=lambda event: str(event.get("lastTimestamp") or ""), default={})
    return str(newest.get("message") or "")


def refusal_reason(message: str) -> SessionReason:
    # A rejection by the ResourceQuota admission plugin can be recognized only by this text.
    return SessionReason.QUOTA_EXCEEDED if "exceeded quota" in message else SessionReason.POD_REFUSED


class StartBackoff:
    """The retry delays of sessions whose Job or pod the API server has rejected.

    Each rejection doubles the delay of the session, up to a limit.
    """

    def __init__(self, backoff: Backoff = SESSION_START) -> None:
        self._backoff = backoff
        # By session UID: when the next attempt is due, and how often the start was rejected.
        self._retries: dict[str, tuple[float, int]] = {}

    def record_refusal(self, uid: str) -> None:
        now_s = time.monotonic()
        _, failures = self._retries.get(uid, (0.0, 0))
        self._retries[uid] = now_s + self._backoff.wait_s(failures), failures + 1
        for old in [
            other for other, (due_s, _) in list(self._retries.items()) if now_s - due_s > _FORGET_AFTER_S
        ]:
            self.forget(old)

    def wait_s(self, uid: str) -> float:
        """The seconds until the end of the session's retry delay. 0 if there is no delay."""
        due_s, _ = self._retries.get(uid, (0.0, 0))
        return max(0.0, due_s - time.monotonic())

    def forget(self, uid: str) -> None:
        self._retries.pop(uid, None)
