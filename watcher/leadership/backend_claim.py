"""Binds the cluster and the state backend to each other, before a leader changes anything."""

import threading
from typing import Final

import structlog

from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.identity import cluster_id
from stacks.errors import StackError
from stacks.stack import Stacks
from tenancy.cluster_binding import Backend
from watcher.leadership.election import Election

log = structlog.get_logger(__name__)

_RETRY_S: Final = 5.0


def known_backend(stacks: Stacks) -> Backend:
    """The state backend of this process. Its ID is empty if the backend is new or cannot be read."""
    url, record = stacks.cluster_record.url, None
    try:
        record = stacks.cluster_record.read()
    except StackError as error:
        log.warning("the backend's ID cannot be read", problem=str(error))
    return Backend(id=record.backend if record else "", url=url)


class BackendClaim:
    """Records the cluster in the backend, and the backend in the Lease."""

    def __init__(self, cluster: Cluster, stacks: Stacks, election: Election) -> None:
        self._cluster = cluster
        self._stacks = stacks
        self._election = election
        self._stopping = threading.Event()
        self._problem = ""

    def not_ready(self) -> list[str]:
        return [self._problem] if self._problem else []

    def stop(self) -> None:
        self._stopping.set()

    def make(self) -> None:
        """Make both records. Retry until this succeeds. Meanwhile, `not_ready` reports the problem.

        If the backend belongs to another cluster, an administrator has to solve the problem.
        """
        while not self._stopping.is_set():
            try:
                record = self._stacks.cluster_record.claim(cluster_id(self._cluster))
                backend = Backend(id=record.backend, url=self._stacks.cluster_record.url)
                self._election.record_backend(backend)
            except (StackError, ClusterError) as error:
                if str(error) != self._problem:
                    log.error("the backend cannot be used", problem=str(error))
                self._problem = str(error)
                self._stopping.wait(_RETRY_S)
            else:
                self._problem = ""
                return
