"""The HTTP routes of the web page: the HTML file, static files, data as JSON, and the stream of changes."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, Final

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
from watcher.page.page_data import PageData
from watcher.page.request_checks import RequestChecks, RequestRejected
from watcher.page.usage_route import UsageRoute
from watcher.usage.store import UsageStore

_STATIC: Final = Path(__file__).parent / "static"
_INDEX: Final = _STATIC / "index.html"
_PING_S: Final = 15
# The server closes a stream if the browser reads nothing for this long.
_SEND_TIMEOUT_S: Final = 30
_HISTORIES_AT_ONCE: Final = 2
# The view of a tenant may take a second of CPU time. The limit leaves CPU time for the reconciling workers.
_VIEWS_AT_ONCE: Final = 4


class PageRoutes:
    """The routes of the page. If `login` is None, users need no token, but must be on the same machine."""

    def __init__(
        self,
        data: PageData,
        feed: Feed,
        usage: UsageStore,
        not_listed: Callable[[], list[str]],
        leader: Callable[[], Mapping[str, Any]],
        login: Login | None = None,
    ) -> None:
        """`not_listed` returns one message for each kind that the informers have not listed yet.

        `leader` returns the leader among the watchers, and whether this watcher is the leader.
        """
        self._leader = leader
        self._data = data
        self._not_listed = not_listed
        self._feed = feed
        self._usage = UsageRoute(usage, self._authorize)
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
        checks = Middleware(RequestChecks, is_local=self._login is None)
        return [Mount("", Router(routes, redirect_slashes=False), middleware=[checks])]

    async def _authorize(self, request: Request, verb: str = "", tenant: str = "") -> str:
        """The name of the user who sent the request. Raises RequestRejected like `Login.authorize`.

        If the page needs no login, all requests are allowed, and the name is empty.
        """
        return await self._login.authorize(request, verb, tenant) if self._login else ""

    async def _html(self, request: Request) -> Response:
        await self._authorize(request)
        return FileResponse(_INDEX)

    async def _login_html(self, _: Request) -> Response:
        return FileResponse(_INDEX)

    async def _tenants(self, request: Request) -> Response:
        user = await self._authorize(request, "list")
        rest = json.dumps({"user": user, **self._leader()})
        text = f'{{"tenants":[{",".join(self._feed.rows())}],{rest[1:]}'
        return Response(text, media_type="application/json")

    async def _tenant(self, request: Request) -> Response:
        name = request.path_params["name"]
        await self._authorize(request, "get", name)
        view = await to_thread.run_sync(self._data.view, name, limiter=self._views)
        return self._not_found(name) if view is None else JSONResponse(view)

    async def _history(self, request: Request) -> Response:
        name = request.path_params["name"]
        await self._authorize(request, "get", name)
        try:
            updates = await to_thread.run_sync(self._data.history, name, limiter=self._histories)
        except (StackError, StackStopped) as error:
            problem = f"cannot read the history: {without_secrets(str(error))}"
            return JSONResponse({"message": problem}, 502)
        if updates is None:
            return self._not_found(name)
        return JSONResponse(
            {"updates": [update.model_dump(by_alias=True, mode="json") for update in updates]}
        )

    async def _stream(self, request: Request) -> Response:
        await self._authorize(request, "list")
        return EventSourceResponse(self._events(request), ping=_PING_S, send_timeout=_SEND_TIMEOUT_S)

    async def _events(self, request: Request) -> AsyncIterator[ServerSentEvent]:
        async for changes in self._feed.changes():
            try:
                # The token or the permission may have been revoked in the meantime.
                await self._authorize(request, "list")
            except RequestRejected:
                return
            for name, row in changes.items():
                if row is None:
                    yield ServerSentEvent(json.dumps({"name": name}), event="gone")
                else:
                    yield ServerSentEvent(row, event="tenant")

    def _not_found(self, name: str) -> Response:
        if missing := self._not_listed():
            problem = f"the watcher is still starting ({missing[0]}); try again in a moment"
            return JSONResponse({"message": problem}, 503)
        return JSONResponse({"message": f"there is no tenant {name!r}"}, 404)
