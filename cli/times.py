"""Times as people read them: how long ago on a terminal, the full time where a program reads along."""

from datetime import UTC, datetime
from typing import Final

from cli.output import console

# From how many seconds on a unit is used, and what it is called.
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"))


def age(since: datetime) -> str:
    """How long it is since then, in the largest unit that fits."""
    age_s = max(0, int((datetime.now(UTC) - since).total_seconds()))
    return next((f"{age_s // size} {unit}" for size, unit in _UNITS if age_s >= size), f"{age_s} s")


def when(moment: str) -> str:
    """A time of the API's, as this output wants it."""
    since = datetime.fromisoformat(moment)
    return f"{age(since)} ago" if console.is_terminal else since.isoformat(timespec="seconds")
