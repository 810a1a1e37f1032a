"""Checks every request to the page, and sets the security headers of every response."""

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
# The values of the header Sec-Fetch-Site for a request that the page sends, and for an address that a user
# enters in the browser.
_OWN_SITE: Final = ("same-origin", "none")
_HOST: Final = re.compile(r"(\[[^]]+\]|[^:]+)(?::\d+)?")


class RequestRejected(Exception):
    """The server rejects a request. The response has the status and the message of this exception.

    If the status is 401 and the path does not begin with `/api/`, the response redirects the browser to the
    login page instead.
    """

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers


def is_loopback(host: str) -> bool:
    """Whether the host is `localhost` or a loopback address. `host` must not contain a port."""
    try:
        return host.lower() == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class RequestChecks:
    """Middleware that checks every request to the page, and sets the security headers of responses.

    If `is_local` is true, the Host header must be `localhost` or a loopback address. This check prevents DNS
    rebinding. In this attack, a website points its own DNS name to this machine, and then its scripts read
    the page.
    """

    def __init__(self, app: ASGIApp, is_local: bool) -> None:
        self._app = app
        self._is_local = is_local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                # Browsers must not store data, and must revalidate the page's files.
                headers["Cache-Control"] = "no-store" if path.startswith(_API) else "no-cache"
            await send(message)

        headers = Headers(scope=scope)
        try:
            if self._is_local:
                _check_host(headers.get("host", ""))
            if path.startswith(_API):
                _check_site(headers.get("sec-fetch-site", _OWN_SITE[0]))
            await self._app(scope, receive, send_with_headers)
        except SendTimeoutError:
            return  # The browser has stopped reading. The server closes the connection.
        except RequestRejected as rejected:
            await _error_response(rejected, path)(scope, receive, send_with_headers)


def _check_host(header: str) -> None:
    match = _HOST.fullmatch(header)
    if not match or not is_loopback(match[1]):
        raise RequestRejected(
            421,
            "this page is only available on this machine: open it at http://localhost or http://127.0.0.1",
        )


def _check_site(header: str) -> None:
    """Reject requests from other websites. Their scripts cannot read responses, but could cause high load."""
    if header not in _OWN_SITE:
        raise RequestRejected(403, "requests from other websites are not allowed")


def _error_response(rejected: RequestRejected, path: str) -> Response:
    if rejected.status == 401 and not path.startswith(_API):
        return RedirectResponse("/login", 303)
    return JSONResponse({"message": str(rejected)}, rejected.status, rejected.headers)
