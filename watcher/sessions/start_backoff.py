"""Rejected starts of sessions: their reasons, and the backoff before the next attempt.

The API server may reject a Job or its pod, for example because of a quota that could not be checked before,
or because of an image from a registry that is not allowed. The session then waits for a later attempt.
"""

import time
from typing import Final

from cluster.client import Cluster
from tenancy.base.backoff import SESSION_START, Backoff
from tenancy.base.kinds import EVENT
from tenancy.base.manifest import Manifest
from tenancy.spec.aisession import SessionReason

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

    def __init__(self, backoff: Backoff = SESSION_START) -> None:
        self._backoff = backoff
        # By UID: the due time, and the number of rejections.
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
        """How long the session must still wait; 0: it can be tried now."""
        due_s, _ = self._retries.get(uid, (0.0, 0))
        return max(0.0, due_s - time.monotonic())

    def forget(self, uid: str) -> None:
        self._retries.pop(uid, None)
