"""An informer waits after a failure before it tries again."""

from collections.abc import Iterator
from typing import cast
from unittest import mock

import pytest

from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.informer import Informer
from tenancy.base.backoff import Backoff
from tenancy.base.kinds import AISESSION
from tenancy.base.manifest import Manifest
from tests.waiting import eventually


class LateCluster:
    """A fake cluster. It serves the kind only after `is_served` is set."""

    def __init__(self) -> None:
        self.is_served = False
        self.rejected_lists = 0

    def list(self, *_: object, **__: object) -> tuple[list[Manifest], str]:
        if not self.is_served:
            self.rejected_lists += 1
            raise ClusterError("not found", 404)
        return [], "1"

    def watch(self, *_: object, **__: object) -> Iterator[tuple[str, Manifest]]:
        raise ClusterError("watches are not supported")


def test_retry_now_ends_the_wait_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cluster.informer.WATCH", Backoff(3600.0, 3600.0))
    cluster = LateCluster()
    informer = Informer(cast(Cluster, cluster), AISESSION, lambda _before, _after: None)
    informer.start()
    eventually(lambda: cluster.rejected_lists, "the list is rejected")
    cluster.is_served = True
    informer.retry_now()
    eventually(informer.is_synced.is_set, "the kind is listed")
    informer.stop()
    informer.join(30)
    assert not informer.is_alive()


class ClosingCluster:
    """A fake cluster. It accepts every watch, and ends the watch immediately."""

    def __init__(self) -> None:
        self.watches = 0

    def list(self, *_: object, **__: object) -> tuple[list[Manifest], str]:
        return [], "1"

    def watch(self, *_: object, **__: object) -> Iterator[tuple[str, Manifest]]:
        self.watches += 1
        return iter(())


def test_watch_that_ends_at_once_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cluster.informer.WATCH", Backoff(3600.0, 3600.0))
    cluster = ClosingCluster()
    informer = Informer(cast(Cluster, cluster), AISESSION, lambda _before, _after: None)
    informer.start()
    eventually(lambda: cluster.watches, "the first watch")
    informer.retry_now()
    eventually(lambda: cluster.watches == 2, "a retry")
    informer.stop()
    informer.join(30)
    assert cluster.watches == 2


def test_object_that_cannot_be_handled_does_not_affect_others() -> None:
    def handle(_before: Manifest | None, after: Manifest | None) -> None:
        if after and after["metadata"]["name"] == "bad":
            raise RecursionError
        handled.append(after)

    def manifest(name: str) -> Manifest:
        metadata = {"name": name, "namespace": "a", "resourceVersion": "1"}
        return {"apiVersion": AISESSION.api_version, "kind": AISESSION.kind, "metadata": metadata}

    handled: list[Manifest | None] = []
    cluster = LateCluster()
    informer = Informer(cast(Cluster, cluster), AISESSION, handle)
    manifests = [manifest(name) for name in ("first", "bad", "last")]
    with mock.patch.object(cluster, "list", return_value=(manifests, "1")):
        informer.start()
        assert informer.is_synced.wait(30)
    informer.stop()
    informer.join(30)
    assert handled == [manifests[0], manifests[2]]
