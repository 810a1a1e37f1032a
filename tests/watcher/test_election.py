"""The leader election without an API server: requests that hang, fail or conflict."""

import threading
from collections.abc import Iterator
from typing import Any, NoReturn, cast

import pytest

from cluster.client import Cluster
from cluster.errors import ClusterError
from tenancy.base.kinds import LEASE, Kind
from tenancy.base.manifest import Manifest
from tenancy.cluster_binding import Backend
from tenancy.leaders import leadership_of
from tests.waiting import eventually
from watcher.leadership.election import Election
from watcher.lease_options import LeaseTimes

BACKEND = Backend(id="a", url="file:///a")
# Long enough that a busy machine does not lose the Lease by accident.
LONG = LeaseTimes(duration_s=300, renew_s=200, retry_s=0.02)
SHORT = LeaseTimes(duration_s=2, renew_s=0.5, retry_s=0.02)


class Server:
    """An API server with one Lease. It rejects writes of outdated versions."""

    def __init__(self) -> None:
        self.lease: Manifest | None = None
        self.is_answering = threading.Event()
        self.is_answering.set()
        self._guard = threading.Lock()

    def with_timeout(self, _: float) -> "Server":
        return self

    def get(self, *_: Any) -> Manifest | None:
        self.is_answering.wait()
        return self.lease

    def create(self, _: Kind, manifest: Manifest) -> Manifest:
        return self._store(None, manifest)

    def patch(self, _: Kind, __: str, change: Manifest, **___: Any) -> Manifest:
        self.is_answering.wait()
        before = self.lease
        if before is None:
            raise ClusterError("not found", 404)
        annotations = {**before["metadata"]["annotations"], **change["metadata"]["annotations"]}
        metadata = {**before["metadata"], "annotations": annotations}
        version = change["metadata"]["resourceVersion"]
        return self._store(version, {"metadata": metadata, "spec": {**before["spec"], **change["spec"]}})

    def _store(self, version: str | None, manifest: Manifest) -> Manifest:
        with self._guard:
            current = self.lease["metadata"]["resourceVersion"] if self.lease else None
            if version != current:
                raise ClusterError("conflict", 409)
            new_version = str(int(current or 0) + 1)
            metadata = {**manifest["metadata"], "resourceVersion": new_version}
            self.lease = {**manifest, "kind": LEASE.kind, "metadata": metadata}
            return self.lease


class Candidate:
    """A process that takes part in the election. `is_lost` is set if it must end."""

    def __init__(self, server: Server, times: LeaseTimes = LONG, backend: Backend = BACKEND) -> None:
        self.is_lost = threading.Event()
        self.election = Election(cast(Cluster, server), times)
        self.election.start(backend, self._end)
        self.election.is_decided.wait()

    def _end(self, _: float) -> NoReturn:
        self.is_lost.set()
        while True:  # The real function ends the process.
            threading.Event().wait()

    def is_leading(self) -> bool:
        return self.election.is_leading.is_set()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.is_answering.set()


def holder(server: Server) -> str:
    return leadership_of(server.lease).current


def version(server: Server) -> int:
    assert server.lease is not None
    return int(server.lease["metadata"]["resourceVersion"])


def test_first_candidate_leads_at_once_and_the_second_after_its_release(server: Server) -> None:
    first, second = Candidate(server), Candidate(server)
    assert first.is_leading()
    assert second.election.notes() == [f"standby: {first.election.id} leads"]
    assert (first.election.not_ready(), second.election.not_ready()) == ([], [])
    first.election.stop(is_idle=True)
    assert not first.is_leading()
    eventually(second.is_leading, "the second candidate leads")
    assert [record.id for record in second.election.leadership.records] == [
        second.election.id,
        first.election.id,
    ]
    second.election.stop(is_idle=True)
    assert holder(server) == ""


def test_lease_is_not_released_while_operations_run(server: Server) -> None:
    first = Candidate(server)
    first.election.stop(is_idle=False)
    second = Candidate(server)
    assert not second.is_leading()
    assert holder(server) == first.election.id
    second.election.stop(is_idle=True)


def test_renewal_that_hangs_ends_the_leader(server: Server) -> None:
    leader = Candidate(server, SHORT)
    server.is_answering.clear()
    eventually(leader.is_lost.is_set, "the leader ends although its request never returns")


def test_change_by_somebody_else_does_not_end_the_leader(server: Server) -> None:
    leader = Candidate(server)
    leader.election.record_backend(Backend(id="b", url="s3://b"))
    assert server.lease is not None
    server.lease = {**server.lease, "metadata": {**server.lease["metadata"], "resourceVersion": "1000"}}
    eventually(lambda: version(server) > 1000, "the Lease is renewed")
    assert not leader.is_lost.is_set()
    leader.election.stop(is_idle=True)


def test_other_backend_never_leads(server: Server) -> None:
    leader = Candidate(server)
    leader.election.record_backend(BACKEND)
    leader.election.stop(is_idle=True)
    other = Candidate(server, backend=Backend(id="c", url="file:///c"))
    assert not other.is_leading()
    [problem] = other.election.not_ready()
    assert "are in the state backend file:///a, but this watcher uses file:///c" in problem
    moved = Candidate(server, backend=Backend(id="a", url="s3://moved"))
    assert moved.is_leading()
    for candidate in (other, moved):
        candidate.election.stop(is_idle=True)


def test_times_must_be_in_order() -> None:
    for times in ((10, 10, 2), (15, 2, 2), (15, 20, 2)):
        with pytest.raises(ValueError, match="must be greater than its renew deadline"):
            LeaseTimes(*times)
