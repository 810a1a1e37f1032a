"""The shipped plans file is valid. For an invalid plans file, the error names the field."""

import pytest

from tenancy.base.errors import PlansError, UnknownPlan
from tenancy.plans import plans_from_text, read_plans

VALID = "plans: {p: {maxNamespaces: 1, quotas: [{name: q, hard: {cpu: 1}}], limits: {}}}"


def test_shipped_plans_are_sound() -> None:
    plans = read_plans()
    assert set(plans.plans) == {"basic", "pro", "enterprise"}
    basic = plans.plan("basic").quotas[0]
    assert (basic.name, basic.hard["cpu"], basic.hard["memory"]) == ("tenant-quota", "500m", "1Gi")
    assert [len(plan.quotas) for plan in plans.plans.values()] == [3, 3, 3]
    assert {plans.plan(name).quotas[1].hard["pods"] for name in plans.plans} == {"20", "50"}


def test_unknown_plan_is_named_with_those_there_are() -> None:
    with pytest.raises(UnknownPlan, match=r"spec\.plan: there is no plan 'gold'; known: p"):
        plans_from_text(VALID).plan("gold")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("plans: {", "not YAML"),
        ("plans: 2026-13-45", "can't be read: month must be in"),
        ("[" * 2000, "can't be read: maximum recursion depth"),
        ("", "plans file"),
        ("plans: {}", "plans"),
        (VALID.replace("cpu: 1", "cpu: lots"), r"plans\.p\.quotas\[0\]\.hard\.cpu"),
        (VALID.replace("maxNamespaces: 1", "maxNamespaces: 0"), r"plans\.p\.maxNamespaces"),
        (VALID.replace("limits: {}", "limits: {}, surprise: 1"), r"plans\.p\.surprise: there is no such"),
        (VALID.replace("maxNamespaces: 1, ", ""), r"plans\.p\.maxNamespaces: is required$"),
        (
            VALID.replace("maxNamespaces", "maxNamespacez"),
            r"plans\.p\.maxNamespacez: there is no such field here; plans\.p\.maxNamespaces: is required$",
        ),
        (VALID.replace("limits: {}", "limits: {}, podSecurity: none"), r"plans\.p\.podSecurity"),
        (
            VALID.replace("limits: {}", "limits: {}, network: {monitoring: {}}"),
            r"plans\.p\.network\.monitoring",
        ),
        (VALID.replace("hard: {cpu: 1}}", "hard: {cpu: 1}}, {name: q, hard: {cpu: 1}}"), "given twice"),
    ],
)
def test_broken_file_is_refused_by_its_field(text: str, message: str) -> None:
    with pytest.raises(PlansError, match=message):
        plans_from_text(text)
