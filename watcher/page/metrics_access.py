"""Restricts a path, such as `/metrics`, to clients that send a token whose user may get the path."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from watcher.page.login import Login
from watcher.page.request_checks import RequestRejected


def rejection_without_right(login: Login, path: str) -> Callable[[Request], Awaitable[Response | None]]:
    """A function that checks whether the client of a request may get the path.

    The function returns None if the client may get the path. Otherwise, it returns an error response.
    """

    async def rejection(request: Request) -> Response | None:
        try:
            await login.authorize_path(request, path)
        except RequestRejected as rejected:
            return PlainTextResponse(f"{rejected}\n", rejected.status, rejected.headers)
        return None

    return rejection
