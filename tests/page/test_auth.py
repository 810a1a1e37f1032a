"""Token reviews are cached for a limited time. Each client can check only a few unknown tokens."""

from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from cluster.client import Cluster
from tenancy.base.kinds import Kind
from tenancy.base.manifest import Manifest
from watcher.page.auth import AccessReviews, User
from watcher.page.client_limits import ClientLimits, client_of
from watcher.page.request_checks import RequestRejected


class ReviewingCluster(Cluster):
    """A client that accepts all tokens except those that start with `made-up`.

    It allows either all requests or none.
    """

    def __init__(self) -> None:
        self.is_allowed = True
        self.review_count = 0

    def create(self, kind: Kind, manifest: Manifest, **_: Any) -> Manifest:  # noqa: ARG002
        self.review_count += 1
        is_valid = not manifest["spec"].get("token", "").startswith("made-up")
        return {
            "status": {"authenticated": is_valid, "user": {"username": "ada"}, "allowed": self.is_allowed}
        }


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


def test_rejected_tokens_are_cached_and_displace_no_user() -> None:
    clock = SimpleNamespace(now=100.0)
    cluster = ReviewingCluster()
    reviews = AccessReviews(cluster, lambda: clock.now)
    ada = reviews.user("token")
    for number in range(5000):
        assert reviews.user(f"made-up-{number}") is None
    review_count = cluster.review_count
    assert reviews.user("token") == ada
    assert reviews.user("made-up-4999") is None
    assert reviews.is_rejected("made-up-4999")
    assert cluster.review_count == review_count
    clock.now = 130.0
    assert not reviews.is_rejected("made-up-4999")
    assert reviews.is_known("token"), "a token stays known while its review is repeated"
    assert not reviews.is_known("made-up-4999")


def test_client_with_many_rejected_tokens_waits_for_a_minute() -> None:
    clock = SimpleNamespace(now=0.0)
    limits = ClientLimits(lambda: clock.now)

    async def check(address: str) -> int:
        try:
            async with limits.slot(address):
                return 200
        except RequestRejected as rejected:
            return rejected.status

    for _ in range(20):
        assert anyio.run(check, "192.0.2.1") == 200
        limits.count_rejected("192.0.2.1")
    assert anyio.run(check, "192.0.2.1") == 429
    assert anyio.run(check, "192.0.2.2") == 200
    clock.now = 60.0
    assert anyio.run(check, "192.0.2.1") == 200


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:1", "2001:db8::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("", ""),
    ],
)
def test_addresses_of_one_host_are_one_client(address: str, client: str) -> None:
    assert client_of(address) == client
