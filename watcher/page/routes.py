"""The page's routes: one HTML file, its static files, and the data behind it as JSON and as a stream."""

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final

from anyio import CapacityLimiter, to_thread
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route, Router
from starlette.staticfiles import StaticFiles

from stacks.errors import StackError, StackStopped, without_secrets
from watcher.page.live_feed import Feed
from watcher.page.login import Login
from watcher.page.page_data import Board
from watcher.page.request_checks import Guard, Refused
from watcher.page.usage_route import UsageRoute
from watcher.usage.store import UsageStore

_STATIC: Final = Path(__file__).parent / "static"
_INDEX: Final = _STATIC / "index.html"
_PING_S: Final = 15
# A browser that takes nothing for so long is gone.
_SEND_S: Final = 30
_HISTORIES_AT_ONCE: Final = 2
# Each may take a second of the processor that the workers need too.
_VIEWS_AT_ONCE: Final = 4


class PageRoutes:
    def __init__(
        self,
        board: Board,
        feed: Feed,
        usage: UsageStore,
        not_listed: Callable[[], list[str]],
        login: Login | None = None,
    ) -> None:
        """`not_listed` tells what of the cluster has not been seen yet. Without a login, the page is for this
        machine only."""
        self._board = board
        self._not_listed = not_listed
        self._feed = feed
        self._usage = UsageRoute(usage, self._admit)
        self._login = login
        self._histories = CapacityLimiter(_HISTORIES_AT_ONCE)
        self._views = CapacityLimiter(_VIEWS_AT_ONCE)

    def routes(self) -> list[BaseRoute]:
        routes: list[BaseRoute] = [
            Route("/", self._html),
            Route("/tenants/{name}", self._html),
            Mount("/static", StaticFiles(directory=_STATIC)),
            Route("/api/tenants", self._tenants),
            Route("/api/tenants/{name}", self._tenant),
            Route("/api/tenants/{name}/history", self._history),
            self._usage.route,
            Route("/api/stream", self._stream),
        ]
        if self._login:
            routes += [Route("/login", self._login_html), *self._login.routes()]
        guard = Middleware(Guard, is_local=self._login is None)
        return [Mount("", Router(routes, redirect_slashes=False), middleware=[guard])]

    async def _admit(self, request: Request, verb: str = "", tenant: str = "") -> str:
        return await self._login.admit(request, verb, tenant) if self._login else ""

    async def _html(self, request: Request) -> Response:
        await self._admit(request)
        return FileResponse(_INDEX)

    async def _login_html(self, _: Request) -> Response:
        return FileResponse(_INDEX)

    async def _tenants(self, request: Request) -> Response:
        user = await self._admit(request, "list")
        text = f'{{"tenants":[{",".join(self._feed.rows())}],"user":{json.dumps(user)}}}'
        return Response(text, media_type="application/json")

    async def _tenant(self, request: Request) -> Response:
        name = request.path_params["name"]
        await self._admit(request, "get", name)
        view = await to_thread.run_sync(self._board.view, name, limiter=self._views)
        return self._unknown(name) if view is None else JSONResponse(view)

    async def _history(self, request: Request) -> Response:
        name = request.path_params["name"]
        await self._admit(request, "get", name)
        try:
            updates = await to_thread.run_sync(self._board.history, name, limiter=self._histories)
        except (StackError, StackStopped) as error:
            problem = f"the history can't be read: {without_secrets(str(error))}"
            return JSONResponse({"message": problem}, 502)
        if updates is None:
            return self._unknown(name)
        return JSONResponse({"updates": [found.model_dump(by_alias=True, mode="json") for found in updates]})

    async def _stream(self, request: Request) -> Response:
        await self._admit(request, "list")
        return EventSourceResponse(self._events(request), ping=_PING_S, send_timeout=_SEND_S)

    async def _events(self, request: Request) -> AsyncIterator[ServerSentEvent]:
        async for changes in self._feed.changes():
            try:
                # A right, or a token, may have been taken away since.
                await self._admit(request, "list")
            except Refused:
                return
            for name, row in changes.items():
                if row is None:
                    yield ServerSentEvent(json.dumps({"name": name}), event="gone")
                else:
                    yield ServerSentEvent(row, event="tenant")

    def _unknown(self, name: str) -> Response:
        if missing := self._not_listed():
            problem = f"the watcher has just started ({missing[0]}); try again in a moment"
            return JSONResponse({"message": problem}, 503)
        return JSONResponse({"message": f"there is no tenant {name!r}"}, 404)
