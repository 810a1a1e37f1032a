"""Waits until a condition is true. Tests use it instead of sleeping for a fixed time."""

import os
import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

# The limit is long, because a busy machine can be many times slower than an idle machine. `./dev mutate` sets
# a shorter limit: with most mutations, the condition never becomes true.
_LIMIT_S = float(os.environ.get("TENANCY_TEST_WAIT_S", "120"))


def eventually(
    condition: Callable[[], Result | None], expectation: str | Callable[[], str], timeout_s: float = _LIMIT_S
) -> Result:
    """Call `condition` until its result is truthy, and return that result.

    Raises AssertionError with the text of `expectation` after `timeout_s` seconds.
    """
    deadline, pause_s = time.monotonic() + timeout_s, 0.05
    while not (result := condition()):
        if time.monotonic() > deadline:
            text = expectation if isinstance(expectation, str) else expectation()
            raise AssertionError(f"not within {timeout_s:g} s: {text}")
        time.sleep(pause_s)
        # Most conditions become true soon. If the wait takes longer, check less often, so that other
        # processes get more CPU time.
        pause_s = min(pause_s * 1.1, 0.25)
    return result
