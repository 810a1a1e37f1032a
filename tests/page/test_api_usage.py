"""The route `/api/usage` and the authorization of its requests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.routing import Mount, Router

from tests.page.client import PageClient
from watcher.http import serve_http
from watcher.page.request_checks import RequestChecks, RequestRejected
from watcher.page.usage_route import UsageRoute
from watcher.usage.hours import Series
from watcher.usage.store import UsageStore

NOON = 1_800_000_000 // 3600 * 3600
SINCE, UNTIL = "2027-01-15T00:00:00Z", "2027-01-16T00:00:00"


@pytest.fixture
def store(tmp_path: Path) -> UsageStore:
    return UsageStore(tmp_path / "usage.db")


@pytest.fixture
def checked_rights() -> list[tuple[str, str]]:
    """The verb and the tenant of each authorization check."""
    return []


@pytest.fixture
def page(store: UsageStore, checked_rights: list[tuple[str, str]]) -> Iterator[PageClient]:
    async def authorize(_: Request, verb: str, tenant: str) -> str:
        checked_rights.append((verb, tenant))
        if tenant == "secret":
            raise RequestRejected(403, "not yours")
        return "somebody"

    routes = Router([UsageRoute(store, authorize).route])
    server = serve_http(
        "127.0.0.1", 0, {}, {}, [Mount("", routes, middleware=[Middleware(RequestChecks, is_local=True)])]
    )
    yield PageClient(server.server_port)
    server.shutdown()


@pytest.fixture
def recorded(store: UsageStore) -> None:
    for minute in range(0, 121, 2):
        store.record(
            NOON + minute * 60,
            {
                Series("acme", "tenant-acme", "cpu"): (0.5, 2),
                Series("other", "tenant-other", "pods"): (3, 20),
            },
        )


@pytest.mark.usefixtures("recorded")
def test_usage_of_all_tenants_needs_the_list_right(
    page: PageClient, checked_rights: list[tuple[str, str]]
) -> None:
    report = page.get(f"/api/usage?since={SINCE}&until={UNTIL}").data
    assert checked_rights == [("list", "")]
    assert (report["since"], report["until"]) == ("2027-01-15T00:00:00Z", "2027-01-16T00:00:00Z")
    assert report["rows"] == [
        {
            "tenant": "acme",
            "namespace": "tenant-acme",
            "resource": "cpu",
            "unit": "CPU-hours",
            "quotaHours": 4,
            "usedHours": 1,
            "recordedHours": 2,
        },
        {
            "tenant": "other",
            "namespace": "tenant-other",
            "resource": "pods",
            "unit": "pod-hours",
            "quotaHours": 40,
            "usedHours": 6,
            "recordedHours": 2,
        },
    ]


@pytest.mark.usefixtures("recorded")
def test_usage_of_one_tenant_needs_the_get_right(
    page: PageClient, checked_rights: list[tuple[str, str]]
) -> None:
    report = page.get(f"/api/usage?since={SINCE}&until={UNTIL}&tenant=acme").data
    assert checked_rights == [("get", "acme")]
    assert [row["tenant"] for row in report["rows"]] == ["acme"]
    assert page.get("/api/usage?tenant=secret").status == 403


@pytest.mark.usefixtures("recorded")
def test_default_period_is_the_last_30_days(page: PageClient) -> None:
    assert page.get("/api/usage").data["rows"] == []
    assert len(page.get(f"/api/usage?until={UNTIL}").data["rows"]) == 2


@pytest.mark.parametrize("time", ["yesterday", "0001-01-01", "9999-12-31T23:59:59-12:00", ""])
def test_invalid_time_is_rejected_with_its_name(page: PageClient, time: str) -> None:
    for name in ("since", "until"):
        response = page.get(f"/api/usage?{name}={time}")
        assert response.status == 400
        assert response.data["message"].startswith(f"{name}: ")


def test_unreadable_database_is_reported(page: PageClient, store: UsageStore) -> None:
    response = page.get("/api/usage")
    assert response.status == 503
    assert "nothing is recorded there yet" in response.data["message"]
    store.path.write_text("no database, whatever its name says" * 100)
    assert "not a database" in page.get("/api/usage").data["message"]
