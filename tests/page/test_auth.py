"""Reviews of tokens are cached for a limited time."""

from types import SimpleNamespace
from typing import Any

from cluster.client import Cluster
from tenancy.base.kinds import Kind
from tenancy.base.manifest import Manifest
from watcher.page.auth import AccessReviews, User


class ReviewingCluster(Cluster):
    """Accepts every token, and allows everything or nothing."""

    def __init__(self) -> None:
        self.is_allowed = True
        self.review_count = 0

    def create(self, kind: Kind, manifest: Manifest, **_: Any) -> Manifest:  # noqa: ARG002
        self.review_count += 1
        return {"status": {"authenticated": True, "user": {"username": "ada"}, "allowed": self.is_allowed}}


def test_right_is_reviewed_again_after_30_seconds_or_a_logout() -> None:
    clock = SimpleNamespace(now=100.0)
    cluster = ReviewingCluster()
    reviews = AccessReviews(cluster, lambda: clock.now)
    ada = reviews.user("token")
    assert ada == User("ada", {})
    assert reviews.is_allowed("token", ada, "list")
    cluster.is_allowed = False
    review_count, clock.now = cluster.review_count, 129.9
    assert reviews.is_allowed("token", ada, "list")
    assert cluster.review_count == review_count
    clock.now = 130.0
    assert not reviews.is_allowed("token", ada, "list")

    cluster.is_allowed = True
    assert not reviews.is_allowed("token", ada, "list")
    reviews.forget("another")
    assert not reviews.is_allowed("token", ada, "list")
    reviews.forget("token")
    assert reviews.is_allowed("token", ada, "list")
