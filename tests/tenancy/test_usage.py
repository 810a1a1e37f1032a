"""The resource usage of a tenant: the sums of quotas and of measured usage, and significant changes."""

from decimal import Decimal
from typing import Any

import pytest

from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.usage import (
    Amount,
    MeasuredUsage,
    is_significant_change,
    measured_by_namespace,
    namespace_amounts,
    total_amounts,
    total_measured,
)

MIB = 2**20
SMALL_CHANGE_AFTER_S = 300


def quotas(*entries: tuple[str, dict[str, str], dict[str, str]], **spec: Any) -> dict[ObjectKey, Manifest]:
    """Live ResourceQuotas. Each entry is a namespace, the hard limits and the used amounts."""
    return {
        ObjectKey("ResourceQuota", namespace, f"quota-{number}"): {
            "kind": "ResourceQuota",
            "spec": {"hard": hard, **spec},
            "status": {"used": used},
        }
        for number, (namespace, hard, used) in enumerate(entries)
    }


def pod(namespace: str, *containers: tuple[str, str]) -> Manifest:
    usages = [{"name": "c", "usage": {"cpu": cpu, "memory": memory}} for cpu, memory in containers]
    return {"metadata": {"name": "p", "namespace": namespace}, "containers": usages}


def test_figures_are_summed_up_over_namespaces() -> None:
    live = quotas(
        ("a", {"requests.cpu": "2", "requests.memory": "1Gi", "pods": "20"}, {"requests.cpu": "500m"}),
        ("b", {"cpu": "1500m", "memory": "512Mi"}, {"cpu": "1", "memory": "256Mi"}),
        ("b", {"pods": "5", "requests.storage": "10Gi"}, {"pods": "3"}),
    )
    by_namespace = namespace_amounts(live)
    assert by_namespace["b"] == {
        "cpu": Amount("1", "1500m"),
        "memory": Amount("256Mi", "512Mi"),
        "storage": Amount("0", "10Gi"),
        "pods": Amount("3", "5"),
    }
    assert total_amounts(by_namespace.values()) == {
        "cpu": Amount("1500m", "3500m"),
        "memory": Amount("256Mi", "1536Mi"),
        "storage": Amount("0", "10Gi"),
        "pods": Amount("3", "25"),
    }


def test_of_two_quotas_in_a_namespace_the_tightest_counts() -> None:
    live = quotas(("a", {"pods": "20"}, {"pods": "4"}), ("a", {"pods": "5"}, {"pods": "4"}))
    assert namespace_amounts(live) == {"a": {"pods": Amount("4", "5")}}


@pytest.mark.parametrize("scope", [{"scopes": ["BestEffort"]}, {"scopeSelector": {"matchExpressions": []}}])
def test_quota_for_some_pods_only_is_no_figure_of_the_namespace(scope: dict[str, Any]) -> None:
    assert namespace_amounts(quotas(("a", {"pods": "1"}, {"pods": "1"}), **scope)) == {}


def test_share_of_nothing_is_none() -> None:
    assert Amount("0", "0").ratio == 0
    assert Amount("1", "3").ratio == 0.3333


def test_measured_use_is_summed_up_over_containers_and_pods() -> None:
    pods = [pod("a", ("100m", "10Mi"), ("50000001n", "1024Ki")), pod("a", ("1", "1")), pod("b")]
    by_namespace = measured_by_namespace(pods)
    assert by_namespace["a"] == MeasuredUsage(Decimal("1.150000001"), Decimal(11 * MIB + 1))
    assert by_namespace["b"] == MeasuredUsage()
    total = total_measured(by_namespace.values())
    # The texts are rounded up, so that they never show less than the usage.
    assert (total.cpu_text, total.memory_text) == ("1151m", "12Mi")
    assert (MeasuredUsage().cpu_text, MeasuredUsage().memory_text) == ("0", "0")


def test_pod_whose_figures_can_not_be_read_is_left_out() -> None:
    invalid = pod("a", ("lots", "1Mi"))
    number: Manifest = {"metadata": {"namespace": "b"}, "containers": [{"usage": {"cpu": 2}}, {}]}
    by_namespace = measured_by_namespace([invalid, pod("a", ("1", "1Mi")), number])
    assert by_namespace == {"a": MeasuredUsage(Decimal(1), Decimal(MIB)), "b": MeasuredUsage(Decimal(2))}


@pytest.mark.parametrize(
    "invalid",
    [
        pod("a", ("1e999999999999999999", "1Mi")),
        pod("a", ("1e25", "1Mi")),
        pod("a", ("1", "-1Mi")),
        {"containers": [{"usage": {"cpu": "1"}}]},
        {"metadata": {"namespace": "a"}, "containers": ["1", None]},
        {"metadata": {"namespace": "a"}, "containers": 1},
    ],
)
def test_figures_that_make_no_sense_break_nothing(invalid: Manifest) -> None:
    assert measured_by_namespace([invalid, pod("a", ("1", "1Mi"))]) == {
        "a": MeasuredUsage(Decimal(1), Decimal(MIB))
    }


def test_nothing_measured_is_nothing_in_all() -> None:
    assert total_measured([]) == MeasuredUsage()


@pytest.mark.parametrize(
    ("cpu", "memory", "expected"),
    [
        ("1", 1000, False),
        ("1.1", 1100, False),
        ("1.11", 1000, True),
        ("0.89", 1000, True),
        ("1", 1101, True),
        ("1", 899, True),
    ],
)
def test_move_by_more_than_a_tenth_is_news_after_a_while(cpu: str, memory: int, expected: bool) -> None:
    reported, current = (
        MeasuredUsage(Decimal(1), Decimal(1000 * MIB)),
        MeasuredUsage(Decimal(cpu), Decimal(memory * MIB)),
    )
    assert is_significant_change(reported, current, SMALL_CHANGE_AFTER_S) is expected
    assert not is_significant_change(reported, current, SMALL_CHANGE_AFTER_S - 1)


@pytest.mark.parametrize(
    ("cpu", "memory", "expected"),
    [("1.5", 1500, False), ("1.51", 1000, True), ("0.49", 1000, True), ("1", 1501, True), ("1", 499, True)],
)
def test_move_by_more_than_half_is_news_at_once(cpu: str, memory: int, expected: bool) -> None:
    reported, current = (
        MeasuredUsage(Decimal(1), Decimal(1000 * MIB)),
        MeasuredUsage(Decimal(cpu), Decimal(memory * MIB)),
    )
    assert is_significant_change(reported, current, 0) is expected


def test_trembling_of_an_idle_tenant_is_no_news() -> None:
    assert not is_significant_change(
        MeasuredUsage(), MeasuredUsage(Decimal("0.009"), Decimal(15 * MIB)), SMALL_CHANGE_AFTER_S
    )
    assert is_significant_change(MeasuredUsage(), MeasuredUsage(Decimal("0.011"), Decimal()), 0)


def test_figures_that_come_or_go_are_news() -> None:
    assert is_significant_change(None, MeasuredUsage(), 0)
    assert is_significant_change(MeasuredUsage(), None, 0)
    assert not is_significant_change(None, None, SMALL_CHANGE_AFTER_S)
