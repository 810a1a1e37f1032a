"""The watcher's HTTP server: `/healthz` and `/readyz` for the kubelet, texts such as `/metrics`, the page.

A check answers 200, or 503 with what is missing, a line each. Notes follow in both cases: they are worth
a person's look, but no reason to take the watcher out of service. The page's routes come from `watcher.page`.
"""

import socket
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, NamedTuple

import structlog
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

log = structlog.get_logger(__name__)

Lines = Callable[[], list[str]]
Handler = Callable[[Request], Awaitable[Response]]

# What is still being sent when the process ends may take this long.
_GRACE_S: Final = 2


def _nothing() -> list[str]:
    return []


class Check(NamedTuple):
    # What is wrong now; nothing: all is well.
    problems: Lines
    notes: Lines = _nothing


class Page(NamedTuple):
    text: Callable[[], str]
    content_type: str


class HttpServer:
    """Listens at once, and answers on a thread of its own."""

    def __init__(self, app: Starlette, listener: socket.socket) -> None:
        self.server_port: int = listener.getsockname()[1]
        config = uvicorn.Config(
            app,
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="off",
            # Errors are told by our own log; requests come every few seconds and are no news.
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
    pages: Mapping[str, Page],
    more: Sequence[BaseRoute] = (),
) -> HttpServer:
    """Serves all by their path, the `more` routes last. Port 0 takes a free one."""
    known = [*checks, *pages, *(["/"] if more else [])]

    async def not_found(_: Request, __: Exception) -> Response:
        return _text(404, [f"not found; try {', '.join(known)}"])

    app = Starlette(
        routes=[
            *(Route(path, _check_handler(check)) for path, check in checks.items()),
            *(Route(path, _page_handler(page)) for path, page in pages.items()),
            *more,
        ],
        exception_handlers={404: not_found, Exception: _broke},
    )
    app.router.redirect_slashes = False
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return HttpServer(app, socket.create_server((host, port), family=family, backlog=128))


def _check_handler(check: Check) -> Handler:
    async def answer(_: Request) -> Response:
        problems, notes = (lines() for lines in check)
        return _text(503 if problems else 200, [*(problems or ["ok"]), *notes])

    return answer


def _page_handler(page: Page) -> Handler:
    async def answer(_: Request) -> Response:
        text = await run_in_threadpool(page.text)
        return Response(text, headers={"Content-Type": page.content_type})

    return answer


async def _broke(request: Request, error: Exception) -> Response:
    log.error("request broke", path=request.url.path, exc_info=error)
    return _text(500, ["this is a fault of the watcher; its log says more"])


def _text(status: int, lines: list[str]) -> Response:
    return PlainTextResponse("".join(f"{line}\n" for line in lines), status)
