"""What the cluster says of a token is kept for a moment, and no longer."""

from types import SimpleNamespace
from typing import Any

import pytest

from cluster.client import Cluster
from tenancy.base.kinds import Kind
from tenancy.base.manifest import Manifest
from watcher.page import auth
from watcher.page.auth import Reviews, User


class Reviewing(Cluster):
    """Knows every token, and allows what it is told to."""

    def __init__(self) -> None:
        self.is_allowed = True
        self.asked = 0

    def create(self, kind: Kind, manifest: Manifest, **_: Any) -> Manifest:  # noqa: ARG002
        self.asked += 1
        return {"status": {"authenticated": True, "user": {"username": "ada"}, "allowed": self.is_allowed}}


def test_right_is_asked_for_again_after_half_a_minute_or_a_logout(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(auth, "time", SimpleNamespace(monotonic=lambda: clock.now))
    cluster = Reviewing()
    reviews = Reviews(cluster)
    ada = reviews.user("token")
    assert ada == User("ada", {})
    assert reviews.may("token", ada, "list")
    cluster.is_allowed = False
    asked, clock.now = cluster.asked, 129.9
    assert reviews.may("token", ada, "list")
    assert cluster.asked == asked
    clock.now = 130.0
    assert not reviews.may("token", ada, "list")

    cluster.is_allowed = True
    assert not reviews.may("token", ada, "list")
    reviews.forget("another")
    assert not reviews.may("token", ada, "list")
    reviews.forget("token")
    assert reviews.may("token", ada, "list")
