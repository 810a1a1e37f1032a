"""A live copy that could not be listed is tried again at once where somebody knows better than to wait."""

from collections.abc import Iterator
from typing import cast

import pytest

from cluster.client import Cluster, ClusterError
from cluster.informer import Informer
from tenancy.base.backoff import Backoff
from tenancy.base.kinds import AISESSION
from tenancy.base.manifest import Manifest
from tests.waiting import eventually


class LateCluster:
    """In place of a cluster: serves the kind from when it is told to."""

    def __init__(self) -> None:
        self.is_served = False
        self.refused = 0

    def list(self, *_: object, **__: object) -> tuple[list[Manifest], str]:
        if not self.is_served:
            self.refused += 1
            raise ClusterError("not found", 404)
        return [], "1"

    def watch(self, *_: object, **__: object) -> Iterator[tuple[str, Manifest]]:
        raise ClusterError("nobody watches here")


def test_wait_after_a_failure_can_be_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cluster.informer.WATCH", Backoff(3600.0, 3600.0))
    cluster = LateCluster()
    informer = Informer(cast(Cluster, cluster), AISESSION, lambda _before, _after: None)
    informer.start()
    eventually(lambda: cluster.refused, "the list is refused")
    cluster.is_served = True
    informer.retry_now()
    eventually(informer.is_synced.is_set, "the kind is listed")
    informer.stop()
    informer.join(30)
    assert not informer.is_alive()
