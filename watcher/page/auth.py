"""Who somebody is and what they may see, by the cluster's own word: TokenReview and SubjectAccessReview.

Called by `login` with the token of a request. Answers are kept for a moment by the token's hash; the token
itself is kept nowhere.
"""

import hashlib
import threading
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

from cluster.client import Cluster
from tenancy.base.kinds import SUBJECT_ACCESS_REVIEW, TENANTS, TOKEN_REVIEW, Kind
from tenancy.base.manifest import Manifest

_KEEP_S: Final = 30.0
_KEPT_MAX: Final = 4096

Found = TypeVar("Found")


class User(NamedTuple):
    name: str
    # As the reviews take it over from one to the other.
    facts: dict[str, Any]


class Reviews:
    """Each call may ask the API server, and raises ClusterError where that does not answer."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._answers: dict[tuple[str, ...], tuple[float, Any]] = {}
        self._guard = threading.Lock()

    def user(self, token: str) -> User | None:
        """Whose token it is; None where it is nobody's."""
        return self._kept((_digest(token),), lambda: self._asked_user(token))

    def may(self, token: str, user: User, verb: str, tenant: str = "") -> bool:
        """Whether the token's user may do this to one tenant; without a name, to all."""
        return self._kept((_digest(token), verb, tenant), lambda: self._asked_right(user, verb, tenant))

    def forget(self, token: str) -> None:
        digest = _digest(token)
        with self._guard:
            for question in [known for known in self._answers if known[0] == digest]:
                del self._answers[question]

    def _asked_user(self, token: str) -> User | None:
        status = self._review(TOKEN_REVIEW, {"token": token})
        if not status.get("authenticated"):
            return None
        known = status["user"]
        facts = {field: known[field] for field in ("uid", "groups", "extra") if known.get(field)}
        return User(known["username"], facts)

    def _asked_right(self, user: User, verb: str, tenant: str) -> bool:
        """In both groups: the page shows tenants of either."""
        return all(
            self._review(
                SUBJECT_ACCESS_REVIEW,
                {
                    **user.facts,
                    "user": user.name,
                    "resourceAttributes": {
                        "group": kind.group,
                        "resource": kind.plural,
                        "verb": verb,
                        "name": tenant,
                    },
                },
            ).get("allowed")
            for kind in TENANTS
        )

    def _review(self, kind: Kind, spec: Manifest) -> Manifest:
        review = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {}, "spec": spec}
        status: Manifest = self._cluster.create(kind, review).get("status") or {}
        return status

    def _kept(self, question: tuple[str, ...], ask: Callable[[], Found]) -> Found:
        now = time.monotonic()
        with self._guard:
            until, known = self._answers.get(question, (0.0, None))
        if now < until:
            found: Found = known
            return found
        answer = ask()
        with self._guard:
            if len(self._answers) >= _KEPT_MAX:
                self._answers.clear()  # All can be asked again, and nobody can fill the memory.
            self._answers[question] = (now + _KEEP_S, answer)
        return answer


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
