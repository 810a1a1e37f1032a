"""Times as people read them: how long ago on a terminal, the full time where a program reads along."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from cli.output import console

# From how many seconds on a unit is used, and what it is called.
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"))

_AGO: Final = re.compile(r"(\d{1,5})(min|m|h|d|w)")
_STEPS: Final = {"min": "minutes", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def age(since: datetime) -> str:
    """How long it is since then, in the largest unit that fits."""
    age_s = max(0, int((datetime.now(UTC) - since).total_seconds()))
    return next((f"{age_s // size} {unit}" for size, unit in _UNITS if age_s >= size), f"{age_s} s")


def display_time(time: str) -> str:
    """A time of the API's, as this output wants it."""
    since = datetime.fromisoformat(time)
    return f"{age(since)} ago" if console.is_terminal else since.isoformat(timespec="seconds")


def parse_time(text: str, now: datetime) -> datetime:
    """A time as people give it: how long ago, or when; without a zone, this machine's. Else ValueError."""
    if ago := _AGO.fullmatch(text):
        return now - timedelta(**{_STEPS[ago[2]]: int(ago[1])})
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise ValueError(
            f"{text!r} is no time such as 30d, 12h, 90m, 2026-01-31 or 2026-01-31T12:00Z"
        ) from None
