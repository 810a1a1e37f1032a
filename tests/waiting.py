"""How tests wait: for a condition, never for a time."""

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


def eventually(condition: Callable[[], Found | None], told: str, timeout_s: float = 60.0) -> Found:
    """What `condition` returns, once that is something; fails with what was awaited."""
    deadline = time.monotonic() + timeout_s
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout_s:g} s: {told}")
        time.sleep(0.05)
    return found
