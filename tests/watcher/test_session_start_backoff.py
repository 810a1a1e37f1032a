"""If the start of a session is rejected, the status contains the reason.

The delay before each retry grows up to a limit.
"""

import pytest

from tenancy.spec.aisession import SessionReason
from watcher.sessions.start_backoff import StartBackoff, refusal_reason


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ('pods "a" is forbidden: exceeded quota: q, requested: pods=1', SessionReason.QUOTA_EXCEEDED),
        ('serviceaccount "analyst" not found', SessionReason.POD_REFUSED),
        ("spec.containers[].image: evil.test/a is not from a registry", SessionReason.POD_REFUSED),
    ],
)
def test_only_a_quota_error_has_reason_quota_exceeded(message: str, reason: SessionReason) -> None:
    assert refusal_reason(message) == reason


def test_wait_grows_up_to_a_cap_per_session() -> None:
    backoff = StartBackoff()
    waits_s = []
    for _ in range(8):
        backoff.record_refusal("one")
        waits_s.append(backoff.wait_s("one"))
    assert 0 < waits_s[0] < waits_s[1] < waits_s[2]
    assert max(waits_s) <= 60
    assert backoff.wait_s("other") == 0


def test_forget_resets_the_wait() -> None:
    backoff = StartBackoff()
    for _ in range(5):
        backoff.record_refusal("one")
    longest_s = backoff.wait_s("one")
    backoff.forget("one")
    assert backoff.wait_s("one") == 0
    backoff.record_refusal("one")
    assert 0 < backoff.wait_s("one") < longest_s
