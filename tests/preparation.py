"""Gets dependencies that only some tests need: tools, CRDs, PostgreSQL and a browser. This may take minutes.

In a run with several workers, `python -m tests.preparation` gets the dependencies in the background. A test
that needs a dependency waits until it is available. This wait happens before the test's time limit starts. If
a dependency is not available, only the tests that need it fail.
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
from embedded.toolchain.postgres import ensure_postgres
from embedded.toolchain.resolver import ensure_tools, present_tools
from embedded.toolchain.tools import TEST_TOOLS

# The dependency of each fixture.
_DEPENDENCY_BY_FIXTURE = {
    **{f"{name.replace('-', '_')}_binary": name for name in TEST_TOOLS},
    "crd_files": "crds",
    "browser": "browser",
    "postgres_programs": "postgres",
}
# The fixtures that run Kubernetes, Pulumi, Go or a browser.
_TOOL_FIXTURES = {"tools", "control_plane", *_DEPENDENCY_BY_FIXTURE}


def dependencies(item: pytest.Item) -> list[str]:
    """The names of the dependencies that the test needs."""
    return [
        _DEPENDENCY_BY_FIXTURE[fixture] for fixture in _fixtures(item) if fixture in _DEPENDENCY_BY_FIXTURE
    ]


def needs_tools(item: pytest.Item) -> bool:
    """Whether the test runs Kubernetes, Pulumi, Go or a browser."""
    return not _TOOL_FIXTURES.isdisjoint(_fixtures(item))


def missing_tools() -> list[str]:
    """The tools that only tests need and that are not installed yet."""
    present = present_tools(list(TEST_TOOLS))
    return [name for name in TEST_TOOLS if name not in present]


@cache
def prepare(name: str) -> Path | SetupFailed:
    """Get a dependency, and return its path or an error.

    If another process is getting the dependency, wait for it. Each process tries only once. Later calls
    return the same path or error.
    """
    try:
        return _get(name)
    except SetupFailed as error:
        return error


def path(name: str) -> Path:
    """Get a dependency, and return its path. Raises SetupFailed if the dependency is not available."""
    result = prepare(name)
    if isinstance(result, SetupFailed):
        raise result
    return result


def browser() -> Path:
    return path("browser")


def _get(name: str) -> Path:
    getters: dict[str, Callable[[], Path]] = {
        "browser": ensure_browser,
        "crds": _fetch_crds,
        "postgres": ensure_postgres,
    }
    return getters[name]() if name in getters else ensure_tools([name])[name]


def _fetch_crds() -> Path:
    """Fetch the CRDs of all projects. All CRDs are one dependency, because a project takes only a second."""
    *_, (file, *_) = map(module_files, CRD_FILES.values())
    return file.parent


def _fixtures(item: pytest.Item) -> list[str]:
    return cast("list[str]", getattr(item, "fixturenames", []))


def main() -> int:
    """Get all dependencies, the quickest first. The tests that need a dependency report its errors."""
    unwind_on_signals()
    os.nice(5)
    for name in ("crds", "postgres", "browser", *TEST_TOOLS):
        prepare(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
