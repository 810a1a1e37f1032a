"""A refused start is told by its reason, and tried again after a wait that grows up to a cap."""

import pytest

from tenancy.spec.aisession import SessionReason
from watcher.sessions.refused_starts import StartBackoff, refusal_reason


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ('pods "a" is forbidden: exceeded quota: q, requested: pods=1', SessionReason.QUOTA_EXCEEDED),
        ('serviceaccount "analyst" not found', SessionReason.POD_REFUSED),
        ("spec.containers[].image: evil.test/a is not from a registry", SessionReason.POD_REFUSED),
    ],
)
def test_only_a_quota_is_named_as_one(message: str, reason: SessionReason) -> None:
    assert refusal_reason(message) == reason


def test_wait_grows_up_to_a_cap_for_each_session_alone() -> None:
    backoff = StartBackoff()
    waits = []
    for _ in range(8):
        backoff.record_refusal("one")
        waits.append(backoff.wait_s("one"))
    assert 0 < waits[0] < waits[1] < waits[2]
    assert max(waits) <= 60
    assert backoff.wait_s("other") == 0


def test_start_that_went_well_is_forgiven() -> None:
    backoff = StartBackoff()
    for _ in range(5):
        backoff.record_refusal("one")
    worst = backoff.wait_s("one")
    backoff.forget("one")
    assert backoff.wait_s("one") == 0
    backoff.record_refusal("one")
    assert 0 < backoff.wait_s("one") < worst
