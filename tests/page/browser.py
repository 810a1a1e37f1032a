"""A browser tab on the running watcher's page. Whatever a test does there, the console stays clean, and no
request goes to another host.
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

# What the watcher needs seconds for may take longer on a busy machine.
expect.set_options(timeout=60_000)


@dataclass
class Tab:
    page: Page
    address: str
    problems: list[str] = field(default_factory=list)
    # Paths whose refusal is what the test is about: the browser notes every refusal in its console.
    refused: set[str] = field(default_factory=set)

    def open(self, path: str = "/") -> None:
        self.page.goto(self.address + path)
        expect(self.page.get_by_role("heading", level=1)).to_be_attached()

    def search(self, text: str) -> None:
        self.page.get_by_role("searchbox").fill(text)

    def rows(self) -> Locator:
        """The lines of the list that are to be seen."""
        return self.page.locator("tbody tr:visible")

    def names(self) -> list[str]:
        return self.page.locator("tbody tr:visible th a").all_inner_texts()

    def row(self, tenant: str) -> Locator:
        return self.page.locator("tbody tr").filter(
            has=self.page.get_by_role("link", name=tenant, exact=True)
        )

    def section(self, title: str) -> Locator:
        """A part of a tenant's page."""
        heading = self.page.get_by_role("heading", name=title, exact=True, level=2)
        return self.page.locator("section").filter(has=heading)

    def note_message(self, message: ConsoleMessage) -> None:
        path = urlsplit(message.location["url"]).path
        if message.type in ("error", "warning") and path not in self.refused:
            self.problems.append(f"console {message.type}: {message.text} ({path})")

    def note_request(self, request: Request) -> None:
        if not request.url.startswith(f"{self.address}/"):
            self.problems.append(f"request to another host: {request.url}")


# For a module, not for all tests: while it runs, no other event loop can run in this thread.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=preparation.browser())
        yield running
        running.close()


@contextmanager
def opened(browser: Browser, port: int) -> Iterator[Tab]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    tab = Tab(context.new_page(), f"http://{HOST}:{port}")
    context.on("console", tab.note_message)
    context.on("weberror", lambda error: tab.problems.append(f"uncaught: {error.error}"))
    context.on("request", tab.note_request)
    yield tab
    context.close()
    assert tab.problems == []


@pytest.fixture
def tab(browser: Browser, platform: Platform) -> Iterator[Tab]:
    with opened(browser, platform.port) as tab:
        yield tab
