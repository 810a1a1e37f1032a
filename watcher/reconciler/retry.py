"""How reconciling a tenant ends without success."""

from tenancy.base.reasons import Reason
from tenancy.desired import DesiredState


class TryAgain(Exception):
    """It failed, the status says why, and a retry with backoff may help."""


class MustWait(Exception):
    """It cannot go on before a change in the cluster, which queues the tenant again.

    `applied` is an intermediate state that was applied before the wait, if any.
    """

    reason = Reason.NAMESPACE_TERMINATING

    def __init__(self, message: str, applied: DesiredState | None = None) -> None:
        super().__init__(message)
        self.applied = applied
