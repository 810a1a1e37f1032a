"""The times of the leader election."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LeaseTimes:
    """The times of the leader election, in seconds. The defaults are those of Kubernetes' own controllers."""

    # Another watcher takes the Lease this long after it has seen the last renewal.
    duration_s: float = 15.0
    # If the leader cannot renew the Lease for this long, it ends its operations and exits.
    renew_s: float = 10.0
    # Time between two attempts to take or renew the Lease.
    retry_s: float = 2.0

    def __post_init__(self) -> None:
        if not self.retry_s < self.renew_s < self.duration_s:
            raise ValueError(
                f"the duration of the Lease ({self.duration_s:g} s) must be greater than its renew deadline "
                f"({self.renew_s:g} s), which must be greater than the retry period ({self.retry_s:g} s)"
            )

    @property
    def grace_s(self) -> float:
        """The time in which a leader that has lost the Lease saves the state of its running operations."""
        return (self.duration_s - self.renew_s) / 2
