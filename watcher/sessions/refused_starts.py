"""Starts that the API server refused: why, and when to try again.

A quota that no figure told of, an image from a registry the tenant may not use: the session waits on, and
what was in its way may be gone the next time. Used by the turns.
"""

import time
from typing import Final

from cluster.client import Cluster
from tenancy.base.kinds import EVENT
from tenancy.base.manifest import Manifest
from tenancy.spec.aisession import SessionReason

# The longest wait, in first ones.
_LAST_RETRY: Final = 12
# A session that has not come back by then is gone.
_FORGOTTEN_S: Final = 600.0


def pod_refusal(cluster: Cluster, job: Manifest) -> str:
    """Why the Job has no pod, as its controller tells; empty where it has told nothing."""
    metadata = job["metadata"]
    # Selected by the API server: a namespace may have thousands of others.
    fields = f"reason=FailedCreate,involvedObject.uid={metadata['uid']}"
    told = cluster.list(EVENT, namespace=metadata["namespace"], fields=fields)[0]
    newest = max(told, key=lambda event: str(event.get("lastTimestamp") or ""), default={})
    return str(newest.get("message") or "")


def refusal_reason(message: str) -> SessionReason:
    # The quota plugin's own words; its answer has no other mark.
    return SessionReason.QUOTA_EXCEEDED if "exceeded quota" in message else SessionReason.POD_REFUSED


class Refusals:
    """Until when each session, by its uid, is left alone."""

    def __init__(self, first_retry_s: float = 5.0) -> None:
        self._first_retry_s = first_retry_s
        # When it is due, and the wait before that.
        self._retries: dict[str, tuple[float, float]] = {}

    def add(self, uid: str) -> None:
        now = time.monotonic()
        _, last_s = self._retries.get(uid, (0.0, self._first_retry_s / 2))
        wait_s = min(last_s * 2, _LAST_RETRY * self._first_retry_s)
        self._retries[uid] = now + wait_s, wait_s
        for old in [other for other, (due, _) in list(self._retries.items()) if now - due > _FORGOTTEN_S]:
            self.forget(old)

    def wait_s(self, uid: str) -> float:
        """How long it is still left alone; 0: not any more."""
        due, _ = self._retries.get(uid, (0.0, 0.0))
        return max(0.0, due - time.monotonic())

    def forget(self, uid: str) -> None:
        self._retries.pop(uid, None)
