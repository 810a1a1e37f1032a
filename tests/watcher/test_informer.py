"""The live copy, against a real API server: it follows, reconnects, and lists again where it must."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.client import Cluster, ClusterError, WatchExpired
from cluster.informer import Informer
from embedded.controlplane.plane import ControlPlane
from tenancy.base.kinds import NAMESPACE
from tenancy.base.manifest import Manifest, ObjectKey
from tests.waiting import eventually

SELECTOR = "informed=true"


class Followed:
    """An informer, what it told of, and the cluster it follows."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.told: list[tuple[str | None, str | None]] = []
        self.informer = Informer(cluster, NAMESPACE, self._note, SELECTOR)

    def _note(self, before: Manifest | None, after: Manifest | None) -> None:
        self.told.append((_name(before), _name(after)))

    def make(self, name: str, **labels: str) -> None:
        metadata = {"name": name, "labels": {"informed": "true", **labels}}
        self.cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})

    def knows(self, name: str) -> bool:
        return self.informer.get(ObjectKey("Namespace", "", name)) is not None


@pytest.fixture(scope="module")
def restarted(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """An API server that was started anew, and so has forgotten the versions before."""
    folder = tmp_path_factory.mktemp("restarted")
    with ControlPlane(tools, folder, is_throw_away=True):
        pass
    with ControlPlane(tools, folder, is_throw_away=True) as plane:
        yield Cluster.connect(plane.kubeconfig)


@pytest.fixture
def followed(restarted: Cluster) -> Iterator[Followed]:
    followed = Followed(restarted)
    yield followed
    followed.informer.stop()


def test_what_was_there_and_what_comes_are_each_told_once(followed: Followed) -> None:
    followed.make("informed-old")
    followed.informer.start()
    assert followed.informer.is_synced.wait(30)
    followed.make("informed-new")
    eventually(lambda: followed.knows("informed-new"), "the new namespace is known")
    assert followed.told.count((None, "informed-old")) == 1
    assert followed.told.count((None, "informed-new")) == 1


def test_object_that_leaves_the_selection_is_told_as_gone(followed: Followed) -> None:
    followed.make("informed-leaves")
    followed.informer.start()
    eventually(lambda: followed.knows("informed-leaves"), "the namespace is known")
    followed.cluster.patch(NAMESPACE, "informed-leaves", {"metadata": {"labels": {"informed": None}}})
    eventually(lambda: ("informed-leaves", None) in followed.told, "it is told as gone")
    assert not followed.knows("informed-leaves")


def test_too_old_a_version_is_gone_for_a_watch(followed: Followed) -> None:
    with pytest.raises(WatchExpired):
        list(followed.cluster.watch(NAMESPACE, "1", SELECTOR))


def test_expired_watch_is_listed_anew_and_tells_what_it_missed(followed: Followed) -> None:
    followed.make("informed-stays")
    followed.make("informed-goes")
    followed.informer._list()
    followed.cluster.patch(NAMESPACE, "informed-goes", {"metadata": {"labels": {"informed": None}}})
    followed.make("informed-stays", seen="again")
    followed.told.clear()
    # As after a long cut: the version it would go on from is one the server has forgotten.
    followed.informer._version = "1"
    followed.informer.start()
    eventually(lambda: ("informed-goes", None) in followed.told, "the lost one is told")
    eventually(lambda: ("informed-stays", "informed-stays") in followed.told, "the changed one is told")
    followed.make("informed-after")
    eventually(lambda: followed.knows("informed-after"), "it watches again")


def test_what_could_not_be_taken_in_is_told_again(followed: Followed) -> None:
    followed.make("informed-refused")
    refusals = [ClusterError("no answer from the API server")]

    def note(before: Manifest | None, after: Manifest | None) -> None:
        if refusals and _name(after) == "informed-refused":
            raise refusals.pop()
        followed.told.append((_name(before), _name(after)))

    followed.informer = Informer(followed.cluster, NAMESPACE, note, SELECTOR)
    followed.informer.start()
    assert followed.informer.is_synced.wait(30)
    assert not refusals
    assert followed.told.count((None, "informed-refused")) == 1


def _name(manifest: Manifest | None) -> str | None:
    return None if manifest is None else manifest["metadata"]["name"]
