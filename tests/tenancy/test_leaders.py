"""The leaders that the Lease records, and the locks that belong to them."""

import os
import socket
from datetime import UTC, datetime, timedelta

import psutil
import pytest

from stacks.errors import Lock
from stacks.ownership.lock import is_abandoned
from stacks.ownership.processes import has_ended, process_start, this_machine, this_process
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import BACKEND_ANNOTATION, LEADERS_ANNOTATION
from tenancy.cluster_binding import Backend, backend_annotation, backend_of
from tenancy.leaders import Leader, Leadership, leaders_annotation, leadership_of

NOW = datetime.now(UTC)
HERE = socket.gethostname()
NO_PID = 2**22 + 1


def record(name: str, host: str, age_s: float, machine: str = "elsewhere") -> Leader:
    return Leader(id=name, host=host, pid=1, machine=machine, since=NOW - timedelta(seconds=age_s))


def lease(holder: str, annotation: str) -> Manifest:
    return {
        "metadata": {"annotations": {LEADERS_ANNOTATION: annotation}},
        "spec": {"holderIdentity": holder},
    }


def test_annotation_keeps_the_newest_leaders() -> None:
    records: tuple[Leader, ...] = ()
    for number in range(30):
        records = leadership_of(
            lease("x", leaders_annotation(record(f"w{number}", "h", 30 - number), records))
        ).records
    assert [each.id for each in records][:2] == ["w29", "w28"]
    assert len(records) == 20


@pytest.mark.parametrize("annotation", ["", "no JSON", '[{"id": 1}]', "{}"])
def test_invalid_annotation_has_no_records(annotation: str) -> None:
    assert leadership_of(lease("x", annotation)) == Leadership("x", ())
    assert leadership_of(None) == Leadership()


def test_lock_belongs_to_the_leader_of_its_host_and_time() -> None:
    leadership = Leadership("new", (record("new", "pod-0", 10), record("old", "pod-0", 100)))
    ids = {
        age_s: (leadership.holder("pod-0", NOW - timedelta(seconds=age_s)) or record("none", "", 0)).id
        for age_s in (5, 50, 500)
    }
    assert ids == {5: "new", 50: "old", 500: "none"}
    assert leadership.holder("laptop", NOW) is None


def test_lock_of_a_former_leader_on_another_machine_is_abandoned() -> None:
    leadership = Leadership("new", (record("new", "pod-1", 10), record("old", "pod-0", 100)))
    old_lock = Lock("me", "pod-0", 7, NOW - timedelta(seconds=50))
    assert is_abandoned(old_lock, leadership)
    assert not is_abandoned(old_lock, Leadership("old", leadership.records))
    assert not is_abandoned(Lock("me", "pod-0", 7, NOW - timedelta(seconds=500)), leadership)
    assert not is_abandoned(Lock("me", "pod-1", 7, NOW), leadership)


def test_lock_of_a_running_process_of_a_former_leader_on_this_machine_is_respected() -> None:
    leadership = Leadership(
        "new", (record("new", HERE, 0, this_machine()), record("old", HERE, 3600, this_machine()))
    )
    since = NOW - timedelta(seconds=1.5)
    # The first process of the machine is always running.
    assert not is_abandoned(Lock("me", HERE, 1, since), leadership)
    assert is_abandoned(Lock("me", HERE, NO_PID, since), leadership)


def test_lock_from_before_the_start_of_this_machine_is_respected() -> None:
    """A pod with the same name may have taken the lock, and may still run on a node that is cut off."""
    started = datetime.fromtimestamp(psutil.Process(1).create_time(), UTC)
    earlier = Lock("me", HERE, NO_PID, started - timedelta(seconds=60))
    assert not is_abandoned(earlier)
    leadership = Leadership("new", (record("new", HERE, 0), record("old", HERE, 10**9)))
    assert is_abandoned(earlier, leadership)


def test_only_a_process_of_this_machine_has_provably_ended() -> None:
    own = this_process("me", NOW)
    assert (own.pid, own.process_start) == (os.getpid(), process_start(os.getpid()))
    assert not has_ended(own)
    assert has_ended(own.model_copy(update={"process_start": "1"}))
    assert has_ended(own.model_copy(update={"pid": NO_PID}))
    assert not has_ended(own.model_copy(update={"pid": NO_PID, "machine": "elsewhere"}))


def test_backend_is_the_same_by_its_id_or_its_url() -> None:
    stored = Backend(id="a", url="file:///x")
    annotations = {BACKEND_ANNOTATION: backend_annotation(stored)}
    assert backend_of({"metadata": {"annotations": annotations}}) == stored
    assert backend_of({"metadata": {"annotations": {BACKEND_ANNOTATION: "x"}}}) is None
    assert backend_of(None) is None
    assert stored.is_same(Backend(id="a", url="s3://moved"))
    assert stored.is_same(Backend(url="file:///x"))
    assert not stored.is_same(Backend(url="file:///y"))
    assert not Backend(url="file:///x").is_same(Backend(url="file:///y"))
