"""How often the watcher does work that no event triggers. Options of the command line set it."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Periods:
    """Periods in seconds."""

    # Time from a change of used quota to the status update, which includes all changes until then.
    usage_status_s: float = 10.0
    # Time between two reads of the pods' metrics.
    usage_metrics_s: float = 30.0
    # Time between two records of quota usage.
    usage_record_s: float = 60.0
    # First backoff after the API server rejects the start of an AISession.
    session_retry_s: float = 5.0


DEFAULT_PERIODS: Final = Periods()
