"""The HTTP route `/api/usage`. It returns the usage of ResourceQuotas over time as JSON."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from watcher.page.request_checks import RequestRejected
from watcher.usage.database import UsageUnavailable
from watcher.usage.store import UsageStore

_DEFAULT_PERIOD: Final = timedelta(days=30)
_MIN_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)
# The maximum number of reports at the same time. A report may read a large part of the database.
_REPORTS_AT_ONCE: Final = 2

# A function such as `Login.authorize`. Arguments: the request, the verb, and the tenant's name (empty for all
# tenants). Raises RequestRejected.
Authorize = Callable[[Request, str, str], Awaitable[str]]


class UsageRoute:
    """The route `/api/usage`."""

    def __init__(self, store: UsageStore, authorize: Authorize) -> None:
        self.route = Route("/api/usage", self._usage)
        self._store = store
        self._authorize = authorize
        self._limiter = CapacityLimiter(_REPORTS_AT_ONCE)

    async def _usage(self, request: Request) -> Response:
        tenant = request.query_params.get("tenant", "")
        await self._authorize(request, "get" if tenant else "list", tenant)
        until = _time(request, "until", datetime.now(UTC))
        since = _time(request, "since", until - _DEFAULT_PERIOD)
        try:
            report = await to_thread.run_sync(self._store.report, since, until, tenant, limiter=self._limiter)
        except UsageUnavailable as error:
            return JSONResponse({"message": f"cannot read the usage database: {error}"}, 503)
        return JSONResponse(report.model_dump(by_alias=True, mode="json"))


def _time(request: Request, name: str, default: datetime) -> datetime:
    """The time in the query parameter `name`. If the parameter is missing, the result is `default`.

    A time without a time zone is in UTC. Raises RequestRejected if the value is not a time in ISO 8601
    format, or if it is before 1970.
    """
    text = request.query_params.get(name)
    if text is None:
        return default
    try:
        time = datetime.fromisoformat(text)
        time = (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
        if time < _MIN_TIME:
            raise ValueError(text)
    except (ValueError, OverflowError):
        raise RequestRejected(400, f"{name}: {text!r} must be a time such as 2026-01-31T12:00:00Z") from None
    return time
