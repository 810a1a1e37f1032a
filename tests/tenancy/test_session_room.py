"""Checks whether the quotas of a namespace have enough capacity left for a session."""

from decimal import Decimal
from typing import Any

import pytest

from tenancy.base.manifest import Manifest
from tenancy.sessions.capacity import Shortage, session_demand, shortage, total_demand
from tests.tenancy.session_parts import quota, spec

DEMAND = session_demand(spec(resources={"cpu": "500m", "memory": "1Gi"}))


def shortage_in(*quotas: Manifest, promised: dict[str, Decimal] | None = None) -> Shortage | None:
    return shortage(quotas, DEMAND, promised or {})


def test_room_to_the_last_bit_is_room() -> None:
    assert shortage_in(quota(used={"cpu": "1500m", "memory": "1Gi"}, cpu="2", memory="2Gi", pods="1")) is None
    assert shortage_in() is None


@pytest.mark.parametrize("resource", ["cpu", "requests.cpu", "limits.cpu"])
def test_too_little_cpu_is_told_by_quota_and_resource(resource: str) -> None:
    quota_shortage = shortage_in(quota(), quota("tight", {resource: "1501m"}, **{resource: "2"}))
    assert quota_shortage is not None
    assert (quota_shortage.quota, quota_shortage.resource, quota_shortage.can_never_fit) == (
        "tight",
        resource,
        False,
    )
    assert quota_shortage.message == f"quota tight has less than 500m of {resource} left; its limit is 2"


@pytest.mark.parametrize(
    ("resource", "hard", "used"),
    [
        ("memory", "2Gi", "1025Mi"),
        ("requests.memory", "1Gi", "1"),
        ("limits.memory", "1Gi", "1Ki"),
        ("pods", "20", "20"),
        ("count/pods", "1", "1"),
        ("count/jobs.batch", "3", "3"),
    ],
)
def test_each_resource_of_a_session_counts(resource: str, hard: str, used: str) -> None:
    quota_shortage = shortage_in(quota(used={resource: used}, **{resource: hard}))
    assert quota_shortage is not None
    assert quota_shortage.resource == resource


def test_what_could_never_fit_is_told_apart() -> None:
    quota_shortage = shortage_in(quota(memory="512Mi"))
    assert quota_shortage is not None
    assert quota_shortage.can_never_fit
    assert quota_shortage.message == (
        "quota q allows 512Mi of memory, but the session requests 1Gi: "
        "request less, or ask for a larger quota"
    )


def test_what_is_promised_to_others_is_no_room() -> None:
    roomy = quota(cpu="1", pods="5")
    assert shortage_in(roomy, promised=dict(DEMAND)) is None
    assert shortage_in(roomy, promised=total_demand((DEMAND, DEMAND))) is not None


def test_quota_without_figures_has_no_room_yet() -> None:
    fresh = {"metadata": {"name": "fresh"}, "spec": {"hard": {"cpu": "8"}}}
    quota_shortage = shortage_in(fresh)
    assert quota_shortage is not None
    assert not quota_shortage.can_never_fit


def test_figures_that_lag_behind_the_spec_count_as_the_api_server_counts() -> None:
    lowered = quota(cpu="8")
    lowered["spec"] = {"hard": {"cpu": "100m"}}
    assert shortage_in(lowered) is None


@pytest.mark.parametrize(
    ("scope", "counts"),
    [
        ({"scopes": ["NotBestEffort"]}, True),
        ({"scopes": ["NotTerminating", "NotBestEffort"]}, True),
        ({"scopes": ["Terminating"]}, False),
        ({"scopes": ["BestEffort"]}, False),
        ({"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass"}]}}, False),
    ],
)
def test_quota_for_other_pods_does_not_count(scope: dict[str, Any], counts: bool) -> None:
    full = quota(used={"cpu": "1"}, cpu="1")
    full["spec"].update(scope)
    assert (shortage_in(full) is not None) == counts


def test_resources_no_session_asks_for_do_not_count() -> None:
    assert shortage_in(quota(used={"services": "1"}, services="1", requests_storage="0")) is None
