"""Rejected starts of sessions: their reasons, and the backoff before the next attempt.

The API server may reject a Job or its pod, for example because of a quota that could not be checked before,
or because of an image from a registry that is not allowed. The session then waits for a later attempt.
"""

import time
from typing import Final

from cluster.client import Cluster
from tenancy.base.kinds import EVENT
from tenancy.base.manifest import Manifest
from tenancy.spec.aisession import SessionReason

# The longest wait, as a multiple of the first wait.
_MAX_WAIT_FACTOR: Final = 12
# How long after its wait a session is forgotten. It is deleted by then, or it would have been tried again.
_FORGET_AFTER_S: Final = 600.0


def pod_refusal(cluster: Cluster, job: Manifest) -> str:
    """Why the Job has no pod, from the Events of its controller; empty if there are none."""
    metadata = job["metadata"]
    # The API server selects the Events: a namespace may have thousands of others.
    fields = f"reason=FailedCreate,involvedObject.uid={metadata['uid']}"
    events = cluster.list(EVENT, namespace=metadata["namespace"], fields=fields)[0]
    newest = max(events, key=lambda event: str(event.get("lastTimestamp") or ""), default={})
    return str(newest.get("message") or "")


def refusal_reason(message: str) -> SessionReason:
    # This text of the quota admission plugin is the only way to recognize its rejections.
    return SessionReason.QUOTA_EXCEEDED if "exceeded quota" in message else SessionReason.POD_REFUSED


class StartBackoff:
    """The waits of sessions whose start was rejected, by session UID. Each rejection doubles the wait."""

    def __init__(self, first_retry_s: float = 5.0) -> None:
        self._first_retry_s = first_retry_s
        # By UID: the due time, and the length of the wait.
        self._retries: dict[str, tuple[float, float]] = {}

    def record_refusal(self, uid: str) -> None:
        now_s = time.monotonic()
        _, last_s = self._retries.get(uid, (0.0, self._first_retry_s / 2))
        wait_s = min(last_s * 2, _MAX_WAIT_FACTOR * self._first_retry_s)
        self._retries[uid] = now_s + wait_s, wait_s
        for old in [
            other for other, (due_s, _) in list(self._retries.items()) if now_s - due_s > _FORGET_AFTER_S
        ]:
            self.forget(old)

    def wait_s(self, uid: str) -> float:
        """How long the session must still wait; 0: it can be tried now."""
        due_s, _ = self._retries.get(uid, (0.0, 0.0))
        return max(0.0, due_s - time.monotonic())

    def forget(self, uid: str) -> None:
        self._retries.pop(uid, None)
