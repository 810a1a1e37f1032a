"""The door of the page, where it is served to more than this machine: a token, as a header or as a cookie.

Routes ask it to `admit` each request. A person hands in a token once, and a cookie keeps it in the browser.
"""

import json
import re
from typing import Final

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from cluster.client import ClusterError
from stacks.errors import without_secrets
from tenancy.base.kinds import TENANTS
from watcher.page.auth import Reviews, User
from watcher.page.request_checks import Refused

_COOKIE: Final = "tenancy-token"
# What a bearer token may consist of.
_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_TOKEN_MAX_LENGTH: Final = 3500
_BODY_MAX_LENGTH: Final = 8192
# Whoever tries tokens waits for others who do, and nothing else of the watcher waits for them.
_REVIEWS_AT_ONCE: Final = 8
_RIGHT: Final = " and ".join(kind.crd for kind in TENANTS)


class Login:
    def __init__(self, reviews: Reviews) -> None:
        self._reviews = reviews
        self._limiter = CapacityLimiter(_REVIEWS_AT_ONCE)

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/api/login", self._log_in, methods=["POST"]),
            Route("/api/logout", self._log_out, methods=["POST"]),
        ]

    async def admit(self, request: Request, verb: str = "", tenant: str = "") -> str:
        """The name of who asks, if they may do this to the tenant; without a verb, whoever they are."""
        token = _token(request)
        return await to_thread.run_sync(self._admitted, token, verb, tenant, limiter=self._limiter)

    def _admitted(self, token: str, verb: str, tenant: str) -> str:
        try:
            user = self._user(token)
            is_allowed = not verb or self._reviews.may(token, user, verb, tenant)
        except ClusterError as error:
            problem = f"the cluster can't be asked who you are: {without_secrets(str(error))}"
            raise Refused(503, problem) from None
        if not is_allowed:
            what = f"{_RIGHT} {tenant!r}" if tenant else _RIGHT
            raise Refused(
                403, f"{user.name} may not {verb} {what}: ask for a ClusterRole with the verb {verb!r} on it"
            )
        return user.name

    def _user(self, token: str) -> User:
        user = self._reviews.user(token) if _TOKEN.fullmatch(token) else None
        if user is None:
            raise _unknown("the cluster does not know this token; log in with one that is valid")
        return user

    async def _log_in(self, request: Request) -> Response:
        token = await _posted_token(request)
        user = await to_thread.run_sync(self._admitted, token, "", "", limiter=self._limiter)
        answer = JSONResponse({"user": user})
        answer.set_cookie(
            _COOKIE, token, path="/", httponly=True, samesite="strict", secure=_is_secure(request)
        )
        return answer

    async def _log_out(self, request: Request) -> Response:
        _check_is_json(request)
        self._reviews.forget(request.cookies.get(_COOKIE, ""))
        answer = JSONResponse({})
        answer.delete_cookie(_COOKIE, path="/", httponly=True, samesite="strict", secure=_is_secure(request))
        return answer


def _token(request: Request) -> str:
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    token = given.strip() if scheme.lower() == "bearer" else request.cookies.get(_COOKIE, "")
    if not token:
        raise _unknown("log in first, or send a token as Authorization: Bearer")
    return token


async def _posted_token(request: Request) -> str:
    _check_is_json(request)
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _BODY_MAX_LENGTH:
            raise Refused(413, "this is no token: it is too long")
    try:
        token = json.loads(body)["token"]
    except (ValueError, TypeError, KeyError, RecursionError):
        token = None
    if not isinstance(token, str):
        raise Refused(400, 'send the token as JSON: {"token": "…"}')
    token = token.strip()
    if len(token) > _TOKEN_MAX_LENGTH:
        raise Refused(413, "this token is too long for a cookie; use a service account's")
    return token


def _check_is_json(request: Request) -> None:
    """A form on another website can send no JSON without this server's leave."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, "send it as Content-Type: application/json")


def _is_secure(request: Request) -> bool:
    """Whether the browser came by https, be it only as far as a proxy."""
    forwarded = request.headers.get("x-forwarded-proto", "").partition(",")[0].strip()
    return "https" in (request.url.scheme, forwarded)


def _unknown(message: str) -> Refused:
    return Refused(401, message, {"WWW-Authenticate": "Bearer"})
