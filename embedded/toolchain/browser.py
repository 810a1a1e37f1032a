"""The browser that tests of the page drive: one that is on this machine, else one that is installed.

Called by those tests, before the first of them. The product itself needs no browser.
"""

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
_ASK_TIMEOUT_S = 60.0
_INSTALL_TIMEOUT_S = 1200.0


@cache
def ensure_browser() -> Path:
    """A Chromium that runs; where there is none, one is installed, with progress on stderr."""
    if named := os.environ.get(VARIABLE):
        if not _is_running(Path(named)):
            raise SetupFailed(f"{VARIABLE}={named} is not a Chromium that runs: correct it, or unset it")
        return Path(named)
    with locked(cache_folder() / "browser"):
        found = _present() or _from_debian() or _from_playwright()
    if found is None:
        raise SetupFailed(
            "the tests of the page need a Chromium, and none could be installed: install one, and name it in"
            f" {VARIABLE} if it is not on PATH as {', '.join(_NAMES)}"
        )
    return found


def _present() -> Path | None:
    return next(filter(_is_running, _candidates()), None)


def _candidates() -> Iterator[Path]:
    yield from (Path(found) for name in _NAMES if (found := shutil.which(name)))
    yield _playwrights_own()


def _playwrights_own() -> Path:
    """Where Playwright keeps its own, which need not be there."""
    with sync_playwright() as playwright:
        return Path(playwright.chromium.executable_path)


def _from_debian() -> Path | None:
    """As root only: else it would ask for a password in the middle of a test run."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return None
    with Progress("Installing Chromium with apt-get; this happens once"):
        _is_done(["apt-get", "update"])
        is_installed = _is_done(["apt-get", "install", "-y", "--no-install-recommends", "chromium"])
    return _present() if is_installed else None


def _from_playwright() -> Path | None:
    with Progress("Fetching Playwright's Chromium; this happens once"):
        is_installed = _is_done([sys.executable, "-m", "playwright", "install", "chromium"])
    return _present() if is_installed else None


def _is_running(browser: Path) -> bool:
    """Asks it for its version: some systems have a stand-in by that name which only says where to get it."""
    return browser.exists() and _is_done([str(browser), "--version"], _ASK_TIMEOUT_S)


def _is_done(command: Sequence[str], timeout_s: float = _INSTALL_TIMEOUT_S) -> bool:
    try:
        done = subprocess.run(
            command,
            env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
