"""The options of `python -m watcher` for the leader election, and the type of options that are times."""

import math
from dataclasses import dataclass
from typing import Annotated

import typer


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


def seconds(text: str) -> float:
    try:
        value_s = float(text)
    except ValueError:
        value_s = 0.0
    if not 0 < value_s < math.inf:
        raise typer.BadParameter(f"{text!r} must be a number of seconds that is greater than 0")
    return value_s


LeaseDuration = Annotated[
    float,
    typer.Option(
        metavar="S",
        parser=seconds,
        help="Time after which another watcher takes the Lease of a leader that no longer renews it, in "
        "seconds.",
    ),
]
LeaseRenewDeadline = Annotated[
    float,
    typer.Option(
        metavar="S",
        parser=seconds,
        help="Time after which a leader that cannot renew the Lease ends its operations and exits, in "
        "seconds. Must be less than --lease-duration.",
    ),
]
LeaseRetryPeriod = Annotated[
    float,
    typer.Option(
        metavar="S",
        parser=seconds,
        help="Time between two attempts to take or renew the Lease, in seconds. Must be less than "
        "--lease-renew-deadline.",
    ),
]


def lease_times(duration_s: float, renew_s: float, retry_s: float) -> LeaseTimes:
    """The times of the election. Raises BadParameter if they are not in the right order."""
    try:
        return LeaseTimes(duration_s, renew_s, retry_s)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--lease-duration") from None
