"""What tenants had and used over time, as JSON: the route that `tenancy usage` asks."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from watcher.page.request_checks import Refused
from watcher.usage.database import UsageUnavailable
from watcher.usage.store import UsageStore

_PERIOD: Final = timedelta(days=30)
_FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)
# Each may read much of the file.
_REPORTS_AT_ONCE: Final = 2

# Refuses a request whose sender may not do this, by its verb, to a tenant; without a name, to all.
Admit = Callable[[Request, str, str], Awaitable[str]]


class UsageRoute:
    def __init__(self, store: UsageStore, admit: Admit) -> None:
        self.route = Route("/api/usage", self._usage)
        self._store = store
        self._admit = admit
        self._limiter = CapacityLimiter(_REPORTS_AT_ONCE)

    async def _usage(self, request: Request) -> Response:
        tenant = request.query_params.get("tenant", "")
        await self._admit(request, "get" if tenant else "list", tenant)
        until = _time(request, "until", datetime.now(UTC))
        since = _time(request, "since", until - _PERIOD)
        try:
            report = await to_thread.run_sync(self._store.report, since, until, tenant, limiter=self._limiter)
        except UsageUnavailable as error:
            return JSONResponse({"message": f"the record of use can't be read: {error}"}, 503)
        return JSONResponse(report.model_dump(by_alias=True, mode="json"))


def _time(request: Request, name: str, default: datetime) -> datetime:
    """A time out of the address; one without a zone is UTC."""
    text = request.query_params.get(name)
    if text is None:
        return default
    try:
        found = datetime.fromisoformat(text)
        found = (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
        if found < _FIRST:
            raise ValueError(text)
    except (ValueError, OverflowError):
        raise Refused(400, f"{name}: {text!r} is no time such as 2026-01-31T12:00:00Z") from None
    return found
