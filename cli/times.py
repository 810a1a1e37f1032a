"""Formats times for output, and parses the times that users give in options."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from cli.output import console

# The units of an age, and the length of each unit in seconds.
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"))

_DURATION: Final = re.compile(r"(\d{1,5})(min|m|h|d|w)")
_DURATION_UNITS: Final = {"min": "minutes", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def age(since: datetime) -> str:
    """The time since `since`, in the largest unit that fits, such as `3 d`, `5 h`, `20 min` or `8 s`."""
    age_s = max(0, int((datetime.now(UTC) - since).total_seconds()))
    return next((f"{age_s // size} {unit}" for size, unit in _UNITS if age_s >= size), f"{age_s} s")


def display_time(time: str) -> str:
    """The text that the output contains for an RFC 3339 time.

    On a terminal, the text is an age, such as `3 d ago`. Otherwise, the text is the full time.
    """
    since = datetime.fromisoformat(time)
    return f"{age(since)} ago" if console.is_terminal else since.isoformat(timespec="seconds")


def parse_time(text: str, now: datetime) -> datetime:
    """Parse a time. `text` is a duration before `now`, such as `30d`, or an ISO 8601 time.

    A time without a time zone is in the time zone of this machine. Raises ValueError if `text` is invalid.
    """
    if duration := _DURATION.fullmatch(text):
        return now - timedelta(**{_DURATION_UNITS[duration[2]]: int(duration[1])})
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise ValueError(
            f"{text!r} is not a valid time; use a duration before now, such as 30d, 12h or 90m, "
            "or a time, such as 2026-01-31 or 2026-01-31T12:00Z"
        ) from None
