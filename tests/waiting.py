"""How tests wait: for a condition, never for a time."""

import os
import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

# What takes a second on an idle machine may take many on a busy one. `./dev mutate` waits in vain, so less.
_LIMIT_S = float(os.environ.get("TENANCY_TEST_WAIT_S", "120"))


def eventually(
    condition: Callable[[], Found | None], told: str | Callable[[], str], timeout_s: float = _LIMIT_S
) -> Found:
    """What `condition` returns, once that is something; fails with what was awaited."""
    deadline = time.monotonic() + timeout_s
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout_s:g} s: {told if isinstance(told, str) else told()}")
        time.sleep(0.05)
    return found
