"""Fixtures of the page's tests: a client of the running watcher's page, and a browser tab on it."""

import pytest

from tests.page.browser import browser, tab
from tests.page.client import PageClient
from tests.platform import Platform

__all__ = ["browser", "page", "tab"]


@pytest.fixture
def page(platform: Platform) -> PageClient:
    return PageClient(platform.port)
