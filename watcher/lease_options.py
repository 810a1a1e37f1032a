"""The options of `python -m watcher` for the leader election."""

from typing import Annotated

import typer

from watcher.lease_times import LeaseTimes
from watcher.options import seconds

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
