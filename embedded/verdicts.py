"""A pytest plugin that records how each test ends, and whether it failed by an assertion.

`./dev mutate` loads it with `-p`. It writes one JSON line per phase of a test to the file that VERDICTS_FILE
names, and ends the run once each function of UNTIL_FAILED has failed by an assertion.
"""

import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest

VERDICTS_FILE: Final = "TENANCY_VERDICTS_FILE"
UNTIL_FAILED: Final = "TENANCY_UNTIL_FAILED"

# The test functions that have not failed by an assertion yet.
_open: Final = set(filter(None, os.environ.get(UNTIL_FAILED, "").split(",")))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    error = call.excinfo.value if call.excinfo else None
    verdict = {
        "test": function_id(item.nodeid),
        "phase": call.when,
        "outcome": report.outcome,
        "is_assertion": error is not None and is_assertion(error),
        "error": _brief(error),
    }
    with Path(os.environ[VERDICTS_FILE]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(verdict) + "\n")
    if call.when == "call" and verdict["is_assertion"] and verdict["test"] in _open:
        _open.discard(function_id(item.nodeid))
        if not _open:
            item.session.shouldfail = "every test that should fail has failed"
    return report


def function_id(node_id: str) -> str:
    """The node id of a test's function, without its parameters."""
    return node_id.partition("[")[0]


def is_assertion(error: BaseException) -> bool:
    """Whether a test failed because of what it checks. `pytest.raises` that meets no error counts too;
    a time limit, which pytest-timeout reports as the same class of error, does not."""
    is_unmet_raises = isinstance(error, pytest.fail.Exception) and str(error).startswith("DID NOT RAISE")
    return isinstance(error, AssertionError) or is_unmet_raises


def _brief(error: BaseException | None) -> str:
    if error is None:
        return ""
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"
