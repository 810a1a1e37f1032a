"""What stands before every route of the page: the check of the Host header, and every answer's headers."""

import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Final

from sse_starlette.sse import SendTimeoutError
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_API: Final = "/api/"
# What browsers say of a request that the page itself makes, or a person who types the address.
_OWN_SITE: Final = ("same-origin", "none")
_HOST: Final = re.compile(r"(\[[^]]+\]|[^:]+)(?::\d+)?")


class Refused(Exception):
    """A request that gets no answer but this message. Who must log in first is led there, if a person."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers


def is_loopback(host: str) -> bool:
    """Whether a name or an address, without its port, always means this machine."""
    try:
        return host.lower() == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Guard:
    """Where the page is for this machine only, `is_local`, a foreign name is refused: a website can give its
    own name this machine's address, and would then read the page as its own."""

    def __init__(self, app: ASGIApp, is_local: bool) -> None:
        self._app = app
        self._is_local = is_local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                # A browser keeps no data, and asks again whether the page's files are still the same.
                headers["Cache-Control"] = "no-store" if path.startswith(_API) else "no-cache"
            await send(message)

        headers = Headers(scope=scope)
        try:
            if self._is_local:
                _check_host(headers.get("host", ""))
            if path.startswith(_API):
                _check_site(headers.get("sec-fetch-site", _OWN_SITE[0]))
            await self._app(scope, receive, send_guarded)
        except SendTimeoutError:
            return  # The browser has taken nothing for long: without an end to the answer, it is cut off.
        except Refused as refused:
            await _answer(refused, path)(scope, receive, send_guarded)


def _check_host(header: str) -> None:
    found = _HOST.fullmatch(header)
    if not found or not is_loopback(found[1]):
        raise Refused(
            421, "this page is served to this machine only: open it by http://localhost or 127.0.0.1"
        )


def _check_site(header: str) -> None:
    """A website can't read what it fetches here, but could keep the watcher busy by it."""
    if header not in _OWN_SITE:
        raise Refused(403, "this is for the page itself, not for other websites")


def _answer(refused: Refused, path: str) -> Response:
    if refused.status == 401 and not path.startswith(_API):
        return RedirectResponse("/login", 303)
    return JSONResponse({"message": str(refused)}, refused.status, refused.headers)
