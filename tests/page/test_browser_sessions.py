"""A tenant's web page and the page's HTTP API show the tenant's AI sessions."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.page.browser import Tab
from tests.page.client import PageClient
from tests.page.looks import LOOKS, Scheme, Width, axe_violations, set_look
from tests.platform import Platform, tenant_manifest
from tests.sessions.sessions import Sessions, sessions_of
from tests.shared import shared_tenants

RESULT = "a confidential result"


@pytest.fixture(scope="module")
def sessions(running_platform: Platform) -> Iterator[Sessions]:
    """Create a session that runs, and a second session that waits for the first.

    This cluster has no nodes.
    """
    with shared_tenants(running_platform, tenant_manifest("talkative", maxSessions=1)):
        sessions = sessions_of(running_platform, "talkative")
        sessions.create("runs", model=None)
        sessions.set_pod_status("runs", phase="Running")
        sessions.await_phase("runs", "Running")
        sessions.create("waits", model=None, kind="research")
        sessions.await_phase("waits", "Pending", "Queued")
        yield sessions
        sessions.clear()


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_the_sessions_are_accessible(scheme: Scheme, width: Width, sessions: Sessions, tab: Tab) -> None:
    set_look(tab, scheme, width)
    tab.open(f"/tenants/{sessions.tenant}")
    expect(tab.section("Sessions").get_by_role("row")).to_have_count(3)
    assert axe_violations(tab) == []


def test_tenant_page_shows_its_sessions_and_follows_them(
    sessions: Sessions, tab: Tab, page: PageClient
) -> None:
    tab.open(f"/tenants/{sessions.tenant}")
    rows = tab.section("Sessions").get_by_role("row")
    expect(rows.nth(1)).to_contain_text("waits")
    for text in ("research", "not selected", "Pending", "Queued", "the session waits for other sessions"):
        expect(rows.nth(1)).to_contain_text(text)
    for text in ("runs", sessions.namespace, "analysis", "standard", "Running"):
        expect(rows.nth(2)).to_contain_text(text)

    state = {"terminated": {"exitCode": 0, "message": RESULT, "finishedAt": "2026-01-01T00:00:00Z"}}
    container = {
        "name": "session",
        "image": "",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "state": state,
    }
    sessions.set_pod_status("runs", phase="Succeeded", containerStatuses=[container])
    # The page is updated without a reload. The session that has ended moves to the end of the table.
    expect(rows.nth(2)).to_contain_text("Completed")
    expect(rows.nth(1)).to_contain_text("Starting")
    assert sessions.status("runs")["results"]["outputData"] == RESULT
    data = page.get(f"/api/tenants/{sessions.tenant}")
    assert [session["name"] for session in data.data["sessions"]] == ["waits", "runs"]
    assert data.data["sessionCount"] == 2
    # The right to read a Tenant does not include the right to read the results of the tenant's sessions.
    assert RESULT not in data.text


def test_page_of_a_tenant_without_sessions_says_so(running_platform: Platform, tab: Tab) -> None:
    with shared_tenants(running_platform, tenant_manifest("wordless")):
        tab.open("/tenants/wordless")
        expect(tab.section("Sessions")).to_contain_text("No AI sessions.")
