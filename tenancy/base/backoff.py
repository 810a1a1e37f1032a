"""Exponential backoff: the waits between retries, and who uses which. Pure."""

from dataclasses import dataclass
from typing import Final

# 2 to this power exceeds every ratio of the last to the first wait.
_MAX_DOUBLINGS: Final = 32


@dataclass(frozen=True)
class Backoff:
    """Waits that double from the first to the last, in seconds."""

    first_s: float
    last_s: float

    def wait_s(self, failures: int) -> float:
        """The wait after this many earlier failures in a row."""
        return min(self.first_s * 2.0 ** min(failures, _MAX_DOUBLINGS), self.last_s)


# A tenant or the AISessions of a tenant after a failed reconcile.
RECONCILE: Final = Backoff(1.0, 300.0)
# An object that the API server refuses to restore: isolation is broken until it accepts.
REPAIR: Final = Backoff(0.25, 1.0)
# The last applied objects of a tenant, while the state backend does not answer.
LOAD_APPLIED: Final = Backoff(1.0, 5.0)
# A watch that the API server ended.
WATCH: Final = Backoff(0.2, 15.0)
# The CoreDNS configuration.
DNS: Final = Backoff(1.0, 15.0)
# The watcher process of `./dev run`, after it has exited.
WATCHER_PROCESS: Final = Backoff(0.2, 15.0)
# The start of an AISession that the API server rejects. An option sets the first wait.
SESSION_START: Final = Backoff(5.0, 60.0)
