"""The plans file is taken whole or refused by the field that is wrong."""

import pytest

from tenancy.base.errors import PlansError, UnknownPlan
from tenancy.plans import plans_from_text, read_plans

GOOD = "plans: {p: {maxNamespaces: 1, quotas: [{name: q, hard: {cpu: 1}}], limits: {}}}"


def test_shipped_plans_are_sound() -> None:
    plans = read_plans()
    assert set(plans.plans) == {"basic", "pro", "enterprise"}
    basic = plans.plan("basic").quotas[0]
    assert (basic.name, basic.hard["cpu"], basic.hard["memory"]) == ("tenant-quota", "500m", "1Gi")
    assert [len(plan.quotas) for plan in plans.plans.values()] == [3, 3, 3]
    assert {plans.plan(name).quotas[1].hard["pods"] for name in plans.plans} == {"20", "50"}


def test_unknown_plan_is_named_with_those_there_are() -> None:
    with pytest.raises(UnknownPlan, match=r"spec\.plan: there is no plan 'gold'; known: p"):
        plans_from_text(GOOD).plan("gold")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("plans: {", "not YAML"),
        ("", "plans file"),
        ("plans: {}", "plans"),
        (GOOD.replace("cpu: 1", "cpu: lots"), r"plans\.p\.quotas\[0\]\.hard\.cpu"),
        (GOOD.replace("maxNamespaces: 1", "maxNamespaces: 0"), r"plans\.p\.maxNamespaces"),
        (GOOD.replace("limits: {}", "limits: {}, surprise: 1"), r"plans\.p\.surprise: there is no such"),
        (GOOD.replace("maxNamespaces: 1, ", ""), r"plans\.p\.maxNamespaces: is required$"),
        (
            GOOD.replace("maxNamespaces", "maxNamespacez"),
            r"plans\.p\.maxNamespacez: there is no such field here \(and 1 more\)$",
        ),
        (GOOD.replace("limits: {}", "limits: {}, podSecurity: none"), r"plans\.p\.podSecurity"),
        (
            GOOD.replace("limits: {}", "limits: {}, network: {monitoring: {}}"),
            r"plans\.p\.network\.monitoring",
        ),
        (GOOD.replace("hard: {cpu: 1}}", "hard: {cpu: 1}}, {name: q, hard: {cpu: 1}}"), "given twice"),
    ],
)
def test_broken_file_is_refused_by_its_field(text: str, told: str) -> None:
    with pytest.raises(PlansError, match=told):
        plans_from_text(text)
