"""An informer on a real API server receives changes.

After an expired watch, the informer lists the objects again.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.client import Cluster
from cluster.errors import ClusterError, WatchExpired
from cluster.informer import Informer
from embedded.controlplane.plane import ControlPlane
from tenancy.base.kinds import NAMESPACE
from tenancy.base.manifest import Manifest, ObjectKey
from tests.waiting import eventually

SELECTOR = "informed=true"


class RecordedInformer:
    """An informer with its cluster, and the changes that the informer has reported."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.changes: list[tuple[str | None, str | None]] = []
        self.informer = Informer(cluster, NAMESPACE, self._record, SELECTOR)

    def _record(self, before: Manifest | None, after: Manifest | None) -> None:
        self.changes.append((_name(before), _name(after)))

    def apply_namespace(self, name: str, **labels: str) -> None:
        metadata = {"name": name, "labels": {"informed": "true", **labels}}
        self.cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})

    def has(self, name: str) -> bool:
        return self.informer.get(ObjectKey("Namespace", "", name)) is not None


@pytest.fixture(scope="module")
def restarted(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A client of an API server that was restarted.

    The API server does not serve watches from older resource versions.
    """
    folder = tmp_path_factory.mktemp("restarted")
    with ControlPlane(tools, folder, is_throw_away=True):
        pass
    with ControlPlane(tools, folder, is_throw_away=True) as plane:
        yield Cluster.connect(plane.kubeconfig)


@pytest.fixture
def recorded(restarted: Cluster) -> Iterator[RecordedInformer]:
    recorded = RecordedInformer(restarted)
    yield recorded
    recorded.informer.stop()


def test_existing_and_new_objects_are_each_reported_once(recorded: RecordedInformer) -> None:
    recorded.apply_namespace("informed-old")
    recorded.informer.start()
    assert recorded.informer.is_synced.wait(30)
    recorded.apply_namespace("informed-new")
    eventually(lambda: recorded.has("informed-new"), "the new namespace is in the copy")
    for name in ("informed-old", "informed-new"):
        copy = recorded.informer.get(ObjectKey("Namespace", "", name))
        assert copy is not None
        assert "managedFields" not in copy["metadata"]
    assert recorded.changes.count((None, "informed-old")) == 1
    assert recorded.changes.count((None, "informed-new")) == 1


def test_object_that_no_longer_matches_the_selector_is_reported_as_deleted(
    recorded: RecordedInformer,
) -> None:
    recorded.apply_namespace("informed-leaves")
    recorded.informer.start()
    eventually(lambda: recorded.has("informed-leaves"), "the namespace is in the copy")
    recorded.cluster.patch(NAMESPACE, "informed-leaves", {"metadata": {"labels": {"informed": None}}})
    eventually(lambda: ("informed-leaves", None) in recorded.changes, "the deletion is reported")
    assert not recorded.has("informed-leaves")


def test_watch_from_too_old_a_version_is_expired(recorded: RecordedInformer) -> None:
    with pytest.raises(WatchExpired):
        list(recorded.cluster.watch(NAMESPACE, "1", SELECTOR))


def test_changes_missed_by_an_expired_watch_are_reported_after_a_new_list(recorded: RecordedInformer) -> None:
    recorded.apply_namespace("informed-stays")
    recorded.apply_namespace("informed-goes")
    recorded.informer._list()
    recorded.cluster.patch(NAMESPACE, "informed-goes", {"metadata": {"labels": {"informed": None}}})
    recorded.apply_namespace("informed-stays", seen="again")
    recorded.changes.clear()
    # Simulate a long disconnection: the API server no longer has the resource version from which the informer
    # continues.
    recorded.informer._version = "1"
    recorded.informer.start()
    eventually(lambda: ("informed-goes", None) in recorded.changes, "the missed deletion is reported")
    eventually(
        lambda: ("informed-stays", "informed-stays") in recorded.changes, "the missed change is reported"
    )
    recorded.apply_namespace("informed-after")
    eventually(lambda: recorded.has("informed-after"), "the informer watches again")


def test_change_is_reported_again_if_its_handler_failed(recorded: RecordedInformer) -> None:
    recorded.apply_namespace("informed-refused")
    errors = [ClusterError("no answer from the API server")]

    def fail_once(before: Manifest | None, after: Manifest | None) -> None:
        if errors and _name(after) == "informed-refused":
            raise errors.pop()
        recorded.changes.append((_name(before), _name(after)))

    recorded.informer = Informer(recorded.cluster, NAMESPACE, fail_once, SELECTOR)
    recorded.informer.start()
    assert recorded.informer.is_synced.wait(30)
    assert not errors
    assert recorded.changes.count((None, "informed-refused")) == 1


def _name(manifest: Manifest | None) -> str | None:
    return None if manifest is None else manifest["metadata"]["name"]
