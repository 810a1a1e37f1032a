"""Fixtures for the tests of the web page: an HTTP client, and a browser tab that shows the page."""

import pytest

from tests.page.browser import browser, tab
from tests.page.client import PageClient
from tests.platform import Platform

__all__ = ["browser", "page", "tab"]


@pytest.fixture
def page(platform: Platform) -> PageClient:
    return PageClient(platform.port)
