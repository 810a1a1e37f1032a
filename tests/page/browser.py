"""A browser tab that shows the web page of the running watcher.

A test fails if the browser's console contains an error or a warning, or if a request is sent to another host.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Request, expect, sync_playwright

from embedded.controlplane.loopback import HOST
from tests import preparation
from tests.platform import Platform

# The watcher needs seconds to change a Tenant, and longer on a busy machine.
expect.set_options(timeout=60_000)


@dataclass
class Tab:
    """A browser tab. `problems` are the console messages and requests that make the test fail."""

    page: Page
    address: str
    problems: list[str] = field(default_factory=list)
    # The paths of requests that the test expects to fail. The browser logs every failed request in its
    # console.
    expected_failures: set[str] = field(default_factory=set)

    def open(self, path: str = "/") -> None:
        self.page.goto(self.address + path)
        expect(self.page.get_by_role("heading", level=1)).to_be_attached()

    def search(self, text: str) -> None:
        self.page.get_by_role("searchbox").fill(text)

    def rows(self) -> Locator:
        """The visible rows of the table of tenants."""
        return self.page.locator("tbody tr:visible")

    def names(self) -> list[str]:
        return self.page.locator("tbody tr:visible th a").all_inner_texts()

    def row(self, tenant: str) -> Locator:
        return self.page.locator("tbody tr").filter(
            has=self.page.get_by_role("link", name=tenant, exact=True)
        )

    def section(self, title: str) -> Locator:
        """The section with this title on a tenant's page."""
        heading = self.page.get_by_role("heading", name=title, exact=True, level=2)
        return self.page.locator("section").filter(has=heading)

    def record_message(self, message: ConsoleMessage) -> None:
        path = urlsplit(message.location["url"]).path
        if message.type in ("error", "warning") and path not in self.expected_failures:
            self.problems.append(f"console {message.type}: {message.text} ({path})")

    def record_request(self, request: Request) -> None:
        if not request.url.startswith(f"{self.address}/"):
            self.problems.append(f"request to another host: {request.url}")


# The fixture has module scope: while the browser runs, no other event loop can run in this thread.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=preparation.browser())
        yield chromium
        chromium.close()


@contextmanager
def open_tab(browser: Browser, port: int) -> Iterator[Tab]:
    """Open a tab. At the end, check that no problems occurred in the tab."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    tab = Tab(context.new_page(), f"http://{HOST}:{port}")
    context.on("console", tab.record_message)
    context.on("weberror", lambda error: tab.problems.append(f"uncaught: {error.error}"))
    context.on("request", tab.record_request)
    yield tab
    context.close()
    assert tab.problems == []


@pytest.fixture
def tab(browser: Browser, platform: Platform) -> Iterator[Tab]:
    with open_tab(browser, platform.port) as tab:
        yield tab
