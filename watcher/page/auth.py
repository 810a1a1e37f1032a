"""Asks the API server to authenticate and authorize users, with TokenReviews and SubjectAccessReviews.

The results are cached for 30 seconds. The caches contain hashes of the tokens, not the tokens themselves.
Rejected tokens have a cache of their own, so that made-up tokens do not displace the tokens of users.
"""

import hashlib
import threading
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

from cachetools import TTLCache

from cluster.access_reviews import is_granted
from cluster.client import Cluster
from tenancy.base.kinds import TENANTS, TOKEN_REVIEW
from tenancy.base.manifest import Manifest

_CACHE_S: Final = 30.0
_CACHE_MAX_SIZE: Final = 4096
# How long `is_known` is true after the API server has accepted a token.
_KNOWN_S: Final = 3600.0

Result = TypeVar("Result")


class User(NamedTuple):
    name: str
    # The fields `uid`, `groups` and `extra` of `status.user` in the TokenReview. A SubjectAccessReview needs
    # them.
    attributes: dict[str, Any]


class AccessReviews:
    """Asks the API server about users and their permissions, and caches the results. Thread-safe.

    The methods raise ClusterError if a request to the API server fails.
    """

    def __init__(self, cluster: Cluster, now_s: Callable[[], float] = time.monotonic) -> None:
        self._cluster = cluster
        self._cache: TTLCache[tuple[str, ...], Any] = TTLCache(_CACHE_MAX_SIZE, _CACHE_S, now_s)
        self._rejected: TTLCache[str, bool] = TTLCache(_CACHE_MAX_SIZE, _CACHE_S, now_s)
        self._known: TTLCache[str, bool] = TTLCache(_CACHE_MAX_SIZE, _KNOWN_S, now_s)
        self._guard = threading.Lock()

    def user(self, token: str) -> User | None:
        """The user of the token, or None if the token is invalid."""
        if self.is_rejected(token):
            return None
        user = self._cached((_digest(token),), lambda: self._review_token(token))
        if user is not None:
            with self._guard:
                self._known[_digest(token)] = True
        return user

    def is_rejected(self, token: str) -> bool:
        """Whether the API server has rejected the token in the last 30 seconds. Sends no request."""
        with self._guard:
            return _digest(token) in self._rejected

    def is_known(self, token: str) -> bool:
        """Whether the API server has accepted the token in the last hour. Sends no request."""
        with self._guard:
            return _digest(token) in self._known

    def is_allowed(self, token: str, user: User, verb: str, tenant: str = "") -> bool:
        """Whether the user may use the verb, e.g. `get`, on the Tenant. An empty `tenant` means all Tenants.

        `user` must be the user of `token`. The token is used only as the key of the cache.
        """
        return self._cached((_digest(token), verb, tenant), lambda: self._review_access(user, verb, tenant))

    def may_get_path(self, token: str, user: User, path: str) -> bool:
        """Whether the user may send GET requests to the nonResourceURL `path`, e.g. `/metrics`.

        `user` must be the user of `token`. The token is used only as the key of the cache.
        """
        attributes = {"nonResourceAttributes": {"path": path, "verb": "get"}}
        return self._cached((_digest(token), "get", path), lambda: self._is_granted(user, attributes))

    def forget(self, token: str) -> None:
        """Remove all cached results for the token."""
        digest = _digest(token)
        with self._guard:
            for key in [key for key in self._cache if key[0] == digest]:
                self._cache.pop(key, None)
            self._known.pop(digest, None)
            self._rejected.pop(digest, None)

    def _review_token(self, token: str) -> User | None:
        kind = TOKEN_REVIEW
        review = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {},
            "spec": {"token": token},
        }
        status: Manifest = self._cluster.create(kind, review).get("status") or {}
        if not status.get("authenticated"):
            with self._guard:
                self._rejected[_digest(token)] = True
                self._known.pop(_digest(token), None)
            return None
        user = status["user"]
        attributes = {field: user[field] for field in ("uid", "groups", "extra") if user.get(field)}
        return User(user["username"], attributes)

    def _review_access(self, user: User, verb: str, tenant: str) -> bool:
        """Whether the user may use the verb on the Tenant in both API groups that define the kind Tenant.

        The page shows the Tenants of both groups, so the user needs the permission in both groups.
        """
        return all(
            self._is_granted(
                user,
                {
                    "resourceAttributes": {
                        "group": kind.group,
                        "resource": kind.plural,
                        "verb": verb,
                        "name": tenant,
                    }
                },
            )
            for kind in TENANTS
        )

    def _is_granted(self, user: User, attributes: Manifest) -> bool:
        return is_granted(self._cluster, {**user.attributes, "user": user.name}, attributes)

    def _cached(self, key: tuple[str, ...], review: Callable[[], Result]) -> Result:
        with self._guard:
            if key in self._cache:
                cached: Result = self._cache[key]
                return cached
        result = review()
        if result is not None:
            with self._guard:
                self._cache[key] = result
        return result


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
