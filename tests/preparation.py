"""What only some tests need and what may take minutes to get: tools, CRDs of other projects, a browser.

A run with several workers has `python -m tests.preparation` beside it. A test that needs a part waits before
its own time limit starts. A part that cannot be had fails the tests that need it and no others.
"""

import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import cast

import pytest

from embedded.cli import unwind_on_signals
from embedded.errors import SetupFailed
from embedded.toolchain.browser import ensure_browser
from embedded.toolchain.crds import CRD_FILES
from embedded.toolchain.modules import module_files
from embedded.toolchain.resolver import ensure_tools
from embedded.toolchain.tools import TEST_TOOLS

# Fixture -> the name of what has to be there before it is set up.
_FIXTURES = {
    **{f"{name.replace('-', '_')}_binary": name for name in TEST_TOOLS},
    "crd_files": "crds",
    "browser": "browser",
}
# Fixtures of tests that run Kubernetes, Pulumi or Go.
_TOOLS = {"tools", "control_plane", *_FIXTURES}


def names(item: pytest.Item) -> list[str]:
    """What has to be there before the test."""
    return [_FIXTURES[fixture] for fixture in _fixtures(item) if fixture in _FIXTURES]


def needs_tools(item: pytest.Item) -> bool:
    return not _TOOLS.isdisjoint(_fixtures(item))


@cache
def outcome(name: str) -> Path | SetupFailed:
    """Where it is, or why it cannot be had. Waits for another process that is getting it."""
    try:
        return _get(name)
    except SetupFailed as error:
        return error


def tool(name: str) -> Path:
    found = outcome(name)
    if isinstance(found, SetupFailed):
        raise found
    return found


def browser() -> Path:
    return tool("browser")


def _get(name: str) -> Path:
    special: dict[str, Callable[[], Path]] = {"browser": ensure_browser, "crds": _fetch_crds}
    return special[name]() if name in special else ensure_tools([name])[name]


def _fetch_crds() -> Path:
    """Of all projects at once: each takes a second."""
    *_, (file, *_) = map(module_files, CRD_FILES.values())
    return file.parent


def _fixtures(item: pytest.Item) -> list[str]:
    return cast("list[str]", getattr(item, "fixturenames", []))


def main() -> int:
    """Get everything, quickest first. Whoever waits for a part tells why it failed."""
    unwind_on_signals()
    os.nice(5)
    for name in ("crds", "browser", *TEST_TOOLS):
        outcome(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
