"""The exception for a tenant that has to wait for a change in the cluster."""

from tenancy.base.reasons import Reason
from tenancy.desired import DesiredState


class MustWait(Exception):
    """The tenant cannot be updated before a change in the cluster, which queues it again.

    `applied` is an intermediate state that was applied before the wait, if any.
    """

    reason = Reason.NAMESPACE_TERMINATING

    def __init__(self, message: str, applied: DesiredState | None = None) -> None:
        super().__init__(message)
        self.applied = applied
