"""Finds Chromium for the tests of the watcher's web page. Installs Chromium if it is missing."""

import os
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from playwright.sync_api import sync_playwright

from embedded.cache import cache_folder, locked
from embedded.errors import SetupFailed
from embedded.progress import Progress
from embedded.toolchain.apt import install_with_apt, succeeds

VARIABLE = "TENANCY_CHROMIUM"

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_VERSION_TIMEOUT_S = 60.0


@cache
def ensure_browser() -> Path:
    """The path of a working Chromium. Installs Chromium if it is missing, and shows the progress on stderr.

    Raises SetupFailed if Chromium cannot be installed. Also raises SetupFailed if the variable
    TENANCY_CHROMIUM is set, but its value is not the path of a working Chromium.
    """
    if configured := os.environ.get(VARIABLE):
        if not _is_working(Path(configured)):
            raise SetupFailed(
                f"{VARIABLE}={configured} is not a working Chromium: `{configured} --version` fails."
                " Correct the variable or unset it."
            )
        return Path(configured)
    with locked(cache_folder() / "browser"):
        browser = _present_browser() or _installed_browser()
    if browser is None:
        raise SetupFailed(
            "The tests of the web page need Chromium, but ./dev could not install it. Install Chromium under"
            f" one of these names on PATH: {', '.join(_NAMES)}. Or set {VARIABLE} to the path of the browser."
        )
    return browser


def _present_browser() -> Path | None:
    return next(filter(_is_working, _candidates()), None)


def _candidates() -> Iterator[Path]:
    yield from (Path(path) for name in _NAMES if (path := shutil.which(name)))
    yield _playwright_chromium()


def _playwright_chromium() -> Path:
    """The path where Playwright installs its Chromium. The file can be missing."""
    with sync_playwright() as playwright:
        return Path(playwright.chromium.executable_path)


def _installed_browser() -> Path | None:
    """Install Chromium, and return its path. None if it could not be installed, or does not work."""
    if install_with_apt("chromium") and (browser := _present_browser()):
        return browser
    with Progress("Downloading Chromium with Playwright (once)"):
        is_installed = succeeds([sys.executable, "-m", "playwright", "install", "chromium"])
    return _present_browser() if is_installed else None


def _is_working(browser: Path) -> bool:
    """Whether the browser prints its version.

    On some systems, `chromium` is a script that only prints how to install the browser, and then fails.
    """
    return browser.exists() and succeeds([str(browser), "--version"], _VERSION_TIMEOUT_S)
