"""The watcher's HTTP server. It serves health checks (`/healthz`), texts (`/metrics`) and the web page.

If a check succeeds, the response has status 200. If a check fails, the response has status 503 and one line
per problem. Both responses can end with notes. Notes are for people and do not make a check fail.
"""

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

import structlog
import uvicorn
from h11 import LocalProtocolError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from uvicorn.protocols.http.h11_impl import H11Protocol

log = structlog.get_logger(__name__)

Lines = Callable[[], list[str]]
Handler = Callable[[Request], Awaitable[Response]]

# At shutdown, the server waits this long for responses that are still being sent.
_GRACE_S: Final = 2
# The server closes a connection if the headers of a request are not complete after this time.
_HEADERS_TIMEOUT_S: Final = 10.0


def _nothing() -> list[str]:
    return []


class Check(NamedTuple):
    """A health check. It fails if `problems` returns at least one line."""

    problems: Lines
    notes: Lines = _nothing


class TextEndpoint(NamedTuple):
    """An endpoint that serves a text, such as `/metrics`.

    `rejection` decides whether the client may read the text. It returns None if the client may read the text,
    and an error response otherwise. Without `rejection`, all clients may read the text.
    """

    text: Callable[[], str]
    content_type: str
    rejection: Callable[[Request], Awaitable[Response | None]] | None = None


class _TimedProtocol(H11Protocol):
    """The HTTP protocol with a time limit for the headers of a request.

    Without the limit, clients that never complete their requests could use all file descriptors of the
    process.
    """

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._update_timer()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._update_timer()

    def send_400_response(self, msg: str) -> None:
        # h11 raises this error for a HEAD request, because the response to such a request has no content.
        with suppress(LocalProtocolError):
            super().send_400_response(msg)
        self.transport.close()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._update_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def _update_timer(self) -> None:
        """Run the timer while the server waits for the headers of a request.

        New data does not restart the timer.
        """
        # Before the first request, `cycle` is None.
        if not getattr(self.cycle, "response_complete", True):
            self._stop_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(_HEADERS_TIMEOUT_S, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class HttpServer:
    """A running HTTP server. It handles requests on a separate thread."""

    def __init__(self, app: Starlette, listener: socket.socket) -> None:
        self.server_port: int = listener.getsockname()[1]
        config = uvicorn.Config(
            app,
            loop="asyncio",
            http=_TimedProtocol,
            ws="none",
            lifespan="off",
            # `_internal_error` logs errors. Requests are not logged, because probes send them all the time.
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_GRACE_S,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([listener],), name="http", daemon=True)
        self._thread.start()

    def shutdown(self) -> None:
        self._server.should_exit = True
        self._thread.join(_GRACE_S + 1)


def serve_http(
    host: str,
    port: int,
    checks: Mapping[str, Check],
    texts: Mapping[str, TextEndpoint],
    page_routes: Sequence[BaseRoute] = (),
) -> HttpServer:
    """Start a server for the health checks, the texts and the web page. Port 0 selects a free port.

    The keys of `checks` and `texts` are URL paths. Raises OSError if the server cannot listen on the address.
    """
    paths = [*checks, *texts, *(["/"] if page_routes else [])]

    async def not_found(_: Request, __: Exception) -> Response:
        return _text(404, [f"not found; try {', '.join(paths)}"])

    app = Starlette(
        routes=[
            *(Route(path, _check_handler(check)) for path, check in checks.items()),
            *(Route(path, _text_handler(endpoint)) for path, endpoint in texts.items()),
            *page_routes,
        ],
        exception_handlers={404: not_found, Exception: _internal_error},
    )
    app.router.redirect_slashes = False
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return HttpServer(app, socket.create_server((host, port), family=family, backlog=128))


def _check_handler(check: Check) -> Handler:
    async def answer(_: Request) -> Response:
        problems, notes = (lines() for lines in check)
        return _text(503 if problems else 200, [*(problems or ["ok"]), *notes])

    return answer


def _text_handler(endpoint: TextEndpoint) -> Handler:
    async def answer(request: Request) -> Response:
        if endpoint.rejection and (rejection := await endpoint.rejection(request)):
            return rejection
        text = await run_in_threadpool(endpoint.text)
        return Response(text, headers={"Content-Type": endpoint.content_type})

    return answer


async def _internal_error(request: Request, error: Exception) -> Response:
    # If a client sends invalid data after its request, uvicorn responds and closes the connection. When the
    # handler then tries to respond, h11 raises LocalProtocolError. This is not an error of the handler.
    if not isinstance(error, LocalProtocolError):
        log.error("request failed", path=request.url.path, exc_info=error)
    return _text(500, ["internal error; see the watcher's log"])


def _text(status: int, lines: list[str]) -> Response:
    return PlainTextResponse("".join(f"{line}\n" for line in lines), status)
