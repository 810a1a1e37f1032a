"""Authentication and authorization by the API server: TokenReview and SubjectAccessReview.

Results are cached for a short time. The cache contains hashes of the tokens, not the tokens themselves.
"""

import hashlib
import threading
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

from cachetools import TTLCache

from cluster.client import Cluster
from tenancy.base.kinds import SUBJECT_ACCESS_REVIEW, TENANTS, TOKEN_REVIEW, Kind
from tenancy.base.manifest import Manifest

_CACHE_S: Final = 30.0
_CACHE_MAX_SIZE: Final = 4096

Result = TypeVar("Result")


class User(NamedTuple):
    name: str
    # The fields uid, groups and extra of the TokenReview's user. A SubjectAccessReview needs them.
    attributes: dict[str, Any]


class AccessReviews:
    """Asks the API server about users and their permissions, and caches the results. Thread-safe.

    The methods raise ClusterError if a request to the API server fails.
    """

    def __init__(self, cluster: Cluster, now_s: Callable[[], float] = time.monotonic) -> None:
        self._cluster = cluster
        self._cache: TTLCache[tuple[str, ...], Any] = TTLCache(_CACHE_MAX_SIZE, _CACHE_S, now_s)
        self._guard = threading.Lock()

    def user(self, token: str) -> User | None:
        """The user of the token, or None if the token is invalid."""
        return self._cached((_digest(token),), lambda: self._review_token(token))

    def is_allowed(self, token: str, user: User, verb: str, tenant: str = "") -> bool:
        """Whether the user may use the verb on the tenant. An empty `tenant` stands for all tenants."""
        return self._cached((_digest(token), verb, tenant), lambda: self._review_access(user, verb, tenant))

    def forget(self, token: str) -> None:
        """Remove all cached results for the token."""
        digest = _digest(token)
        with self._guard:
            for key in [key for key in self._cache if key[0] == digest]:
                self._cache.pop(key, None)

    def _review_token(self, token: str) -> User | None:
        status = self._review(TOKEN_REVIEW, {"token": token})
        if not status.get("authenticated"):
            return None
        user = status["user"]
        attributes = {field: user[field] for field in ("uid", "groups", "extra") if user.get(field)}
        return User(user["username"], attributes)

    def _review_access(self, user: User, verb: str, tenant: str) -> bool:
        """Whether the user may use the verb on the tenant in both API groups that define Tenants.

        The page shows the Tenants of both groups, so the user needs the permission in both groups.
        """
        return all(
            self._review(
                SUBJECT_ACCESS_REVIEW,
                {
                    **user.attributes,
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

    def _cached(self, key: tuple[str, ...], review: Callable[[], Result]) -> Result:
        with self._guard:
            if key in self._cache:
                cached: Result = self._cache[key]
                return cached
        result = review()
        with self._guard:
            self._cache[key] = result
        return result


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
