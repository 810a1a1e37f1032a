"""Login to the web page with a Kubernetes token. A server on a loopback address needs no login.

A request contains the token in the Authorization header or in a cookie. The login sets the cookie.
"""

import json
import re
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from anyio import CapacityLimiter, fail_after, to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from cluster.errors import ClusterError
from stacks.errors import without_secrets
from tenancy.base.kinds import TENANTS
from watcher.page.auth import AccessReviews, User
from watcher.page.client_limits import ClientLimits
from watcher.page.request_checks import RequestRejected

_COOKIE: Final = "tenancy-token"
# The syntax of a bearer token (RFC 6750).
_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_TOKEN_MAX_LENGTH: Final = 3500
_BODY_MAX_LENGTH: Final = 8192
_BODY_TIMEOUT_S: Final = 10.0
# The maximum numbers of tokens that are checked at the same time. The limits keep the checks from delaying
# other requests. Known tokens have their own limit, so that made-up tokens do not delay logged-in users.
_KNOWN_TOKENS_AT_ONCE: Final = 8
_UNKNOWN_TOKENS_AT_ONCE: Final = 8
_RESOURCES: Final = " and ".join(kind.crd for kind in TENANTS)


class _Right(NamedTuple):
    """A right that the user needs for a request. The arguments of `is_granted` are the token and its user."""

    is_granted: Callable[[str, User], bool]
    # The end of the message "USER cannot …": the forbidden action, and how to get the right.
    description: str


class Login:
    """Checks the token of each request, and provides the routes to log in and out."""

    def __init__(self, reviews: AccessReviews) -> None:
        self._reviews = reviews
        self._known = CapacityLimiter(_KNOWN_TOKENS_AT_ONCE)
        self._unknown = CapacityLimiter(_UNKNOWN_TOKENS_AT_ONCE)
        self._clients = ClientLimits(time.monotonic)

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/api/login", self._log_in, methods=["POST"]),
            Route("/api/logout", self._log_out, methods=["POST"]),
        ]

    async def authorize(self, request: Request, verb: str = "", tenant: str = "") -> str:
        """Check the request's token and the rights of its user. Returns the name of the user.

        Raises RequestRejected if the token is missing or invalid, if the user lacks the right to use the verb
        on the Tenant, or if the API server does not answer. If `verb` is empty, a valid token is enough. If
        `tenant` is empty, the user needs the right for all Tenants.
        """
        return await self._check(request, _token(request), self._tenant_right(verb, tenant) if verb else None)

    async def authorize_path(self, request: Request, path: str) -> None:
        """Check that the user of the request's token may send GET requests to the path, e.g. `/metrics`.

        Raises RequestRejected in the same cases as `authorize`.
        """
        right = _Right(
            lambda token, user: self._reviews.may_get_path(token, user, path),
            f"get {path}: ask for a ClusterRole that allows the verb 'get' on the nonResourceURL {path!r}",
        )
        await self._check(request, _token(request), right)

    def _tenant_right(self, verb: str, tenant: str) -> _Right:
        what = f"{_RESOURCES} {tenant!r}" if tenant else _RESOURCES
        return _Right(
            lambda token, user: self._reviews.is_allowed(token, user, verb, tenant),
            f"{verb} {what}: ask for a ClusterRole that allows the verb {verb!r}",
        )

    async def _check(self, request: Request, token: str, right: _Right | None = None) -> str:
        if not _TOKEN.fullmatch(token) or self._reviews.is_rejected(token):
            raise _invalid_token()
        if self._reviews.is_known(token):
            return await to_thread.run_sync(self._authorized_user, token, right, limiter=self._known)
        address = request.client.host if request.client else ""
        async with self._clients.slot(address):
            try:
                return await to_thread.run_sync(self._authorized_user, token, right, limiter=self._unknown)
            finally:
                if self._reviews.is_rejected(token):
                    self._clients.count_rejected(address)

    def _authorized_user(self, token: str, right: _Right | None) -> str:
        try:
            user = self._reviews.user(token)
            if user is None:
                raise _invalid_token()
            is_allowed = right is None or right.is_granted(token, user)
        except ClusterError as error:
            raise _not_checked(error) from None
        if right and not is_allowed:
            raise RequestRejected(403, f"{user.name} cannot {right.description}")
        return user.name

    async def _log_in(self, request: Request) -> Response:
        token = await _posted_token(request)
        user = await self._check(request, token)
        response = JSONResponse({"user": user})
        response.set_cookie(
            _COOKIE, token, path="/", httponly=True, samesite="strict", secure=_is_secure(request)
        )
        return response

    async def _log_out(self, request: Request) -> Response:
        _check_is_json(request)
        self._reviews.forget(request.cookies.get(_COOKIE, ""))
        response = JSONResponse({})
        response.delete_cookie(
            _COOKIE, path="/", httponly=True, samesite="strict", secure=_is_secure(request)
        )
        return response


def _token(request: Request) -> str:
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    token = credentials.strip() if scheme.lower() == "bearer" else request.cookies.get(_COOKIE, "")
    if not token:
        raise _unauthorized("no token; log in, or send the header Authorization: Bearer TOKEN")
    return token


async def _posted_token(request: Request) -> str:
    _check_is_json(request)
    body = b""
    try:
        with fail_after(_BODY_TIMEOUT_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > _BODY_MAX_LENGTH:
                    raise RequestRejected(413, "the request body is too long")
    except (ClientDisconnect, TimeoutError):
        raise RequestRejected(408, "the request body is incomplete") from None
    try:
        token = json.loads(body)["token"]
    except (ValueError, TypeError, KeyError, RecursionError):
        token = None
    if not isinstance(token, str):
        raise RequestRejected(400, 'send the token as JSON: {"token": "…"}')
    token = token.strip()
    if len(token) > _TOKEN_MAX_LENGTH:
        raise RequestRejected(413, "this token is too long for a cookie; use a service account's token")
    return token


def _check_is_json(request: Request) -> None:
    """Reject a request whose content type is not JSON.

    This check prevents cross-site request forgery, because a form on another website cannot send JSON.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RequestRejected(415, "send the request with Content-Type: application/json")


def _is_secure(request: Request) -> bool:
    """Whether the browser uses HTTPS, to this server or to a proxy that sets `X-Forwarded-Proto`."""
    forwarded = request.headers.get("x-forwarded-proto", "").partition(",")[0].strip()
    return "https" in (request.url.scheme, forwarded)


def _invalid_token() -> RequestRejected:
    return _unauthorized("the cluster rejects this token; log in with a valid token")


def _not_checked(error: ClusterError) -> RequestRejected:
    problem = f"cannot check your token with the API server: {without_secrets(str(error))}"
    return RequestRejected(503, problem)


def _unauthorized(message: str) -> RequestRejected:
    return RequestRejected(401, message, {"WWW-Authenticate": "Bearer"})
