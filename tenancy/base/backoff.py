"""Exponential backoff: the retry delays of each kind of operation. No I/O."""

from dataclasses import dataclass
from typing import Final

# The highest exponent in `wait_s`. `2**_MAX_DOUBLINGS` exceeds `last_s / first_s` of every backoff below.
_MAX_DOUBLINGS: Final = 32


@dataclass(frozen=True)
class Backoff:
    """Retry delays in seconds. The delay starts at `first_s` and doubles for each retry, up to `last_s`."""

    first_s: float
    last_s: float

    def wait_s(self, failures: int) -> float:
        """The delay before a retry, in seconds. `failures` is 0 for the first retry and 1 for the second."""
        return min(self.first_s * 2.0 ** min(failures, _MAX_DOUBLINGS), self.last_s)


# Reconciling a tenant, or the AISessions of a tenant.
RECONCILE: Final = Backoff(1.0, 300.0)
# Repairing drift. The delays are short, because isolation may be broken until the repair succeeds.
REPAIR: Final = Backoff(0.25, 1.0)
# Starting the warm engine again after it failed to start. The warm engine is a process that stays running and
# executes the Pulumi operations of all stacks.
ENGINE_START: Final = Backoff(1.0, 60.0)
# Reading a tenant's last applied objects from the state backend.
LOAD_APPLIED: Final = Backoff(1.0, 5.0)
# Restarting a watch after an error.
WATCH: Final = Backoff(0.2, 15.0)
# Writing the CoreDNS configuration.
DNS: Final = Backoff(1.0, 15.0)
# Restarting the watcher process of `./dev run` after it has exited.
WATCHER_PROCESS: Final = Backoff(0.2, 15.0)
# Starting an AISession again after the API server rejected its Job or pod. The watcher's option
# `--session-retry` replaces `first_s`, and multiplies `last_s` by the same factor.
SESSION_START: Final = Backoff(5.0, 60.0)
# Checking whether the AISessions of a tenant have ended, before the tenant is destroyed. A check sends two
# requests per namespace.
END_SESSIONS: Final = Backoff(0.5, 5.0)
