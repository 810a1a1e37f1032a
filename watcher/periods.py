"""How often the watcher looks and writes where no event makes it. Set on the command line."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Periods:
    """Each in seconds."""

    # The status reports changes of used quota together, so long after the first of them.
    usage_status_s: float = 10.0
    # How often the pods' metrics are read.
    usage_metrics_s: float = 30.0
    # How often usage is recorded.
    usage_record_s: float = 60.0
    # The first wait after a refused start of a session.
    session_retry_s: float = 5.0


DEFAULT_PERIODS: Final = Periods()
