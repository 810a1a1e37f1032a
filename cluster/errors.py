"""Errors of requests to the Kubernetes API."""

from tenancy.base.reasons import Reason


class ClusterError(Exception):
    """A request failed, or could not be sent. `status` is the HTTP status, or 0 if there was no response."""

    reason = Reason.CLUSTER_REFUSED

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status

    @property
    def is_forbidden(self) -> bool:
        """Whether the user lacks a right, or an admission policy forbids the request."""
        return self.status == 403

    @property
    def is_refusal(self) -> bool:
        """Whether the API server rejected the request as invalid or forbidden. A retry would fail again."""
        return self.status in (400, 403, 422)


class WatchExpired(ClusterError):
    """The watch cannot continue from its resource version. The caller must list the objects again."""
