"""A pytest plugin that records the outcome of each test, and whether an assertion failed in the test.

The plugin writes one JSON line per test phase (setup, call, teardown) to a file. The environment variable
TENANCY_VERDICTS_FILE contains the path of the file. The environment variable TENANCY_UNTIL_FAILED contains a
comma-separated list of test functions. When an assertion has failed in each of these functions, the plugin
ends the run.
"""

import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest

VERDICTS_FILE: Final = "TENANCY_VERDICTS_FILE"
UNTIL_FAILED: Final = "TENANCY_UNTIL_FAILED"

# The functions in TENANCY_UNTIL_FAILED in which no assertion has failed yet.
_remaining: Final = set(filter(None, os.environ.get(UNTIL_FAILED, "").split(",")))


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
        "error": _error_summary(error),
    }
    with Path(os.environ[VERDICTS_FILE]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(verdict) + "\n")
    if call.when == "call" and verdict["is_assertion"] and verdict["test"] in _remaining:
        _remaining.discard(function_id(item.nodeid))
        if not _remaining:
            item.session.shouldfail = "every test that should fail has failed"
    return report


def function_id(node_id: str) -> str:
    """The node id of a test without its parameters: `test_a.py::test_b` for `test_a.py::test_b[1]`."""
    return node_id.partition("[")[0]


def is_assertion(error: BaseException) -> bool:
    """Whether the error is a failed assertion.

    If the code inside `pytest.raises` raises nothing, pytest raises `pytest.fail.Exception`. This error
    counts as a failed assertion. pytest-timeout raises the same exception class, but a timeout does not
    count.
    """
    is_unmet_raises = isinstance(error, pytest.fail.Exception) and str(error).startswith("DID NOT RAISE")
    return isinstance(error, AssertionError) or is_unmet_raises


def _error_summary(error: BaseException | None) -> str:
    if error is None:
        return ""
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"
