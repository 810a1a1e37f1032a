"""The oldest waiting sessions start first, within the tenant's limit and its quotas."""

from collections.abc import Mapping, Sequence

from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.sessions.capacity import Demand, session_demand
from tenancy.sessions.start_order import Candidate, StartDecision, decision
from tenancy.spec.aisession import SessionReason
from tests.tenancy.session_parts import quota, spec


def candidate(name: str, created: int = 0, namespace: str = "ns", cpu: str = "1") -> Candidate:
    demand = session_demand(spec(resources={"cpu": cpu, "memory": "1Gi"}))
    return Candidate(ObjectKey("AISession", namespace, name), f"2026-01-01T10:00:{created:02}Z", demand)


def decision_for(
    *waiting: Candidate,
    free: int = 3,
    quotas: Mapping[str, Sequence[Manifest]] | None = None,
    promised: Mapping[str, Demand] | None = None,
) -> StartDecision:
    return decision(waiting, free, 3, quotas or {}, promised or {})


def started(result: StartDecision) -> list[str]:
    return [start.key.name for start in result.starts]


def reasons(result: StartDecision) -> dict[str, SessionReason]:
    return {key.name: wait.reason for key, wait in result.waits.items()}


def test_oldest_start_first_up_to_the_limit() -> None:
    result = decision_for(candidate("young", 9), candidate("b", 1), candidate("a", 1), candidate("old", 0))
    assert started(result) == ["old", "a", "b"]
    assert reasons(result) == {"young": SessionReason.QUEUED}


def test_none_starts_while_the_limit_is_reached() -> None:
    for free in (0, -2):
        result = decision_for(candidate("a"), candidate("b"), free=free)
        assert (started(result), len(result.waits)) == ([], 2)
        assert "3 at once" in result.waits[candidate("a").key].message


def test_limit_of_none_is_told() -> None:
    result = decision([candidate("a")], 0, 0, {}, {})
    assert "maxSessions is 0" in result.waits[candidate("a").key].message


def test_starts_share_the_room_there_is() -> None:
    result = decision_for(
        candidate("a", 1), candidate("b", 2), candidate("c", 3), quotas={"ns": [quota(cpu="2")]}
    )
    assert started(result) == ["a", "b"]
    assert reasons(result) == {"c": SessionReason.QUOTA_EXCEEDED}
    assert "quota q has less than 1 of cpu left" in result.waits[candidate("c").key].message


def test_what_is_promised_before_is_not_given_twice() -> None:
    promised = {"ns": candidate("earlier").demand}
    result = decision_for(candidate("a"), quotas={"ns": [quota(cpu="1500m")]}, promised=promised)
    assert reasons(result) == {"a": SessionReason.QUOTA_EXCEEDED}
    other = {"other": candidate("earlier").demand}
    assert started(decision_for(candidate("a"), quotas={"ns": [quota(cpu="1500m")]}, promised=other)) == ["a"]


def test_small_session_does_not_overtake_a_large_one_of_its_namespace() -> None:
    quotas = {"ns": [quota(used={"cpu": "1"}, cpu="2")]}
    result = decision_for(candidate("large", 1, cpu="2"), candidate("small", 2, cpu="500m"), quotas=quotas)
    assert started(result) == []
    assert reasons(result) == {"large": SessionReason.QUOTA_EXCEEDED, "small": SessionReason.QUEUED}


def test_full_namespace_does_not_hold_up_another() -> None:
    quotas = {"full": [quota(used={"cpu": "1"}, cpu="1")], "ns": [quota(cpu="1")]}
    result = decision_for(candidate("a", 1, "full"), candidate("b", 2), quotas=quotas)
    assert started(result) == ["b"]


def test_session_that_could_never_fit_holds_up_nobody() -> None:
    result = decision_for(candidate("huge", 1, cpu="9"), candidate("b", 2), quotas={"ns": [quota(cpu="2")]})
    assert started(result) == ["b"]
    assert reasons(result) == {"huge": SessionReason.QUOTA_EXCEEDED}


def test_session_that_could_never_fit_is_told_so_while_the_limit_is_reached() -> None:
    quotas = {"ns": [quota(cpu="2")]}
    result = decision_for(candidate("huge", 1, cpu="9"), candidate("b", 2), free=0, quotas=quotas)
    assert reasons(result) == {"huge": SessionReason.QUOTA_EXCEEDED, "b": SessionReason.QUEUED}


def test_only_the_head_of_a_queue_is_told_anew_when_room_is_short() -> None:
    """Kubernetes updates the quota's status shortly after a session ends.

    Until then, only the status of the first waiting session may change. The status of the other waiting
    sessions must stay the same.
    """
    many = [candidate(f"s{number:02}", number) for number in range(20)]
    at_limit = decision_for(*many, free=0)
    quota_full = decision_for(*many, quotas={"ns": [quota(used={"cpu": "2"}, cpu="2")]})
    changed = [key.name for key in at_limit.waits if at_limit.waits[key] != quota_full.waits[key]]
    assert changed == ["s00"]


def test_everybody_is_either_started_or_told() -> None:
    many = [candidate(f"s{number}", number % 3, f"ns{number % 2}") for number in range(20)]
    result = decision_for(*many, quotas={"ns0": [quota(cpu="1")]})
    assert len(result.starts) == 3
    assert {session.key for session in many} == {start.key for start in result.starts} | result.waits.keys()
