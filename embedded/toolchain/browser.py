"""Finds Chromium for the tests of the watcher's web page. Installs Chromium if it is missing."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from playwright.sync_api import sync_playwright

from embedded.cache import cache_folder, locked
from embedded.errors import SetupFailed
from embedded.progress import Progress

VARIABLE = "TENANCY_CHROMIUM"

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_VERSION_TIMEOUT_S = 60.0
_INSTALL_TIMEOUT_S = 1200.0


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
        browser = _present_browser() or _install_with_apt() or _install_with_playwright()
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


def _install_with_apt() -> Path | None:
    """Install Chromium with apt-get if this process runs as root, and return the path of Chromium.

    The function does not use sudo, because sudo would ask for a password during the tests. Returns None if
    Chromium could not be installed or does not work.
    """
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return None
    with Progress("Installing Chromium with apt-get (once)"):
        _succeeds(["apt-get", "update"])
        is_installed = _succeeds(["apt-get", "install", "-y", "--no-install-recommends", "chromium"])
    return _present_browser() if is_installed else None


def _install_with_playwright() -> Path | None:
    with Progress("Downloading Chromium with Playwright (once)"):
        is_installed = _succeeds([sys.executable, "-m", "playwright", "install", "chromium"])
    return _present_browser() if is_installed else None


def _is_working(browser: Path) -> bool:
    """Whether the browser prints its version.

    On some systems, `chromium` is a script that only prints how to install the browser, and then fails.
    """
    return browser.exists() and _succeeds([str(browser), "--version"], _VERSION_TIMEOUT_S)


def _succeeds(command: Sequence[str], timeout_s: float = _INSTALL_TIMEOUT_S) -> bool:
    try:
        result = subprocess.run(
            command,
            env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return result.returncode == 0
