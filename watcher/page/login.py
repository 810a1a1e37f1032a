"""Login to the page. The page needs a login unless it is served on a loopback address.

A request contains its token in the Authorization header or in a cookie. The login sets the cookie.
"""

import json
import re
from typing import Final

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from cluster.errors import ClusterError
from stacks.errors import without_secrets
from tenancy.base.kinds import TENANTS
from watcher.page.auth import AccessReviews, User
from watcher.page.request_checks import RequestRejected

_COOKIE: Final = "tenancy-token"
# The syntax of a bearer token (RFC 6750).
_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_TOKEN_MAX_LENGTH: Final = 3500
_BODY_MAX_LENGTH: Final = 8192
# The maximum number of tokens that are checked at once, so that the checks do not delay other requests.
_REVIEWS_AT_ONCE: Final = 8
_RESOURCES: Final = " and ".join(kind.crd for kind in TENANTS)


class Login:
    """Checks the token of each request, and provides the routes to log in and out."""

    def __init__(self, reviews: AccessReviews) -> None:
        self._reviews = reviews
        self._limiter = CapacityLimiter(_REVIEWS_AT_ONCE)

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/api/login", self._log_in, methods=["POST"]),
            Route("/api/logout", self._log_out, methods=["POST"]),
        ]

    async def authorize(self, request: Request, verb: str = "", tenant: str = "") -> str:
        """The name of the user who sent the request.

        Raises RequestRejected if the token is invalid, or if the user may not use the verb on the tenant. If
        `verb` is empty, a valid token is enough. If `tenant` is empty, the user needs the permission for all
        tenants.
        """
        token = _token(request)
        return await to_thread.run_sync(self._authorized_user, token, verb, tenant, limiter=self._limiter)

    def _authorized_user(self, token: str, verb: str, tenant: str) -> str:
        try:
            user = self._user(token)
            is_allowed = not verb or self._reviews.is_allowed(token, user, verb, tenant)
        except ClusterError as error:
            problem = f"cannot check your token with the API server: {without_secrets(str(error))}"
            raise RequestRejected(503, problem) from None
        if not is_allowed:
            what = f"{_RESOURCES} {tenant!r}" if tenant else _RESOURCES
            raise RequestRejected(
                403, f"{user.name} may not {verb} {what}: ask for a ClusterRole that allows the verb {verb!r}"
            )
        return user.name

    def _user(self, token: str) -> User:
        user = self._reviews.user(token) if _TOKEN.fullmatch(token) else None
        if user is None:
            raise _unauthorized("the cluster rejects this token; log in with a valid token")
        return user

    async def _log_in(self, request: Request) -> Response:
        token = await _posted_token(request)
        user = await to_thread.run_sync(self._authorized_user, token, "", "", limiter=self._limiter)
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
    async for chunk in request.stream():
        body += chunk
        if len(body) > _BODY_MAX_LENGTH:
            raise RequestRejected(413, "the request body is too long")
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
    """Reject a request without JSON. This prevents CSRF: a form on another website cannot send JSON."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RequestRejected(415, "send the request with Content-Type: application/json")


def _is_secure(request: Request) -> bool:
    """Whether the browser uses HTTPS, either to this server or to a proxy in front of this server."""
    forwarded = request.headers.get("x-forwarded-proto", "").partition(",")[0].strip()
    return "https" in (request.url.scheme, forwarded)


def _unauthorized(message: str) -> RequestRejected:
    return RequestRejected(401, message, {"WWW-Authenticate": "Bearer"})
