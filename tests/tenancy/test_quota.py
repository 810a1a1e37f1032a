"""The ResourceQuotas and the LimitRange of a tenant, and the shares of a budget."""

import random
from decimal import Decimal
from typing import Any

import pytest

from tenancy.base.errors import InvalidSpec
from tenancy.base.manifest import ObjectKey
from tenancy.base.quantity import canonical_quantity, quantity_value
from tenancy.desired import DesiredState, desired_state
from tenancy.objects.quotas import shares
from tenancy.plans import read_plans
from tenancy.spec.tenant import tenant_from_manifest

PLANS = read_plans()


def desired(scope: str = "Tenant", **spec: Any) -> DesiredState:
    manifest = {"metadata": {"name": "acme"}, "spec": {"quotaScope": scope, **spec}}
    return desired_state(tenant_from_manifest(manifest), PLANS)


def weighted(**weights: int) -> list[dict[str, Any]]:
    return [{"name": name, "weight": weight} for name, weight in weights.items()]


def hard(state: DesiredState, namespace: str, quota: str = "tenant-quota") -> dict[str, str]:
    manifest = state.by_key[ObjectKey("ResourceQuota", f"tenant-acme-{namespace}", quota)]
    limits: dict[str, str] = manifest["spec"]["hard"]
    return limits


def test_shares_go_by_weight_and_add_up_to_the_budget() -> None:
    state = desired(namespaces=weighted(a=2, b=1, c=1), resourceQuotas={"cpu": 2, "memory": "3Gi"})
    assert [hard(state, name)["cpu"] for name in "abc"] == ["1", "500m", "500m"]
    assert [hard(state, name)["memory"] for name in "abc"] == ["1536Mi", "768Mi", "768Mi"]
    assert [hard(state, name)["pods"] for name in "abc"] == ["10", "5", "5"]
    assert [hard(state, name, "tenant-quota-storage")["requests.storage"] for name in "abc"] == [
        "2560Mi",
        "1280Mi",
        "1280Mi",
    ]


def test_what_cannot_be_split_evenly_is_split_to_the_last_unit() -> None:
    state = desired(namespaces=weighted(a=1, b=1, c=1))
    assert [hard(state, name)["cpu"] for name in "abc"] == ["167m", "167m", "166m"]
    assert [hard(state, name)["memory"] for name in "abc"] == ["357913942", "357913941", "357913941"]
    assert [hard(state, name, "tenant-quota-objects")["services"] for name in "abc"] == ["4", "3", "3"]
    assert [hard(state, name, "tenant-quota-objects")["services.nodeports"] for name in "abc"] == ["0"] * 3


def test_order_of_namespaces_decides_nothing() -> None:
    state, reordered = (
        desired(namespaces=weighted(a=1, b=1, c=5)),
        desired(namespaces=weighted(c=5, b=1, a=1)),
    )
    for key, manifest in state.by_key.items():
        assert reordered.by_key[key] == manifest


def test_number_of_quotas_is_not_split() -> None:
    state = desired(namespaces=weighted(a=1, b=1, c=1))
    assert {hard(state, name, "tenant-quota-objects")["resourcequotas"] for name in "abc"} == {"5"}


def test_namespace_scope_gives_each_namespace_the_whole_figure() -> None:
    state = desired(scope="Namespace", namespaces=weighted(a=9, b=1))
    assert [hard(state, name)["cpu"] for name in "ab"] == ["500m", "500m"]


def test_only_namespace_has_the_whole_budget() -> None:
    whole = desired(scope="Namespace").by_key
    assert desired().by_key == whole


def test_any_split_is_whole_exact_and_as_near_to_its_weights_as_can_be() -> None:
    dice = random.Random(7)
    for _ in range(2000):
        total = dice.choice([0, 1, 7, 500, 2**30, 2**63 - 1, dice.randrange(2**40)])
        weights = tuple(dice.randint(1, 1000) for _ in range(dice.randint(1, 20)))
        split = shares(total, weights)
        assert sum(split) == total
        for share, weight in zip(split, weights, strict=True):
            assert abs(Decimal(share) - Decimal(total) * weight / sum(weights)) < 1


def test_every_share_is_written_as_the_api_server_writes_it() -> None:
    dice = random.Random(11)
    for _ in range(200):
        namespaces = weighted(**{name: dice.randint(1, 9) for name in "abcd"[: dice.randint(1, 4)]})
        memory = f"{dice.randint(1, 9999)}{dice.choice(['', 'k', 'M', 'Mi', 'Gi'])}"
        state = desired(
            namespaces=namespaces, resourceQuotas={"memory": memory, "cpu": f"{dice.randint(0, 9999)}m"}
        )
        limits = [hard(state, namespace["name"]) for namespace in namespaces]
        assert sum(quantity_value(limit["memory"]) for limit in limits) == quantity_value(memory)
        for limit in limits:
            assert limit == {resource: canonical_quantity(text) for resource, text in limit.items()}


def test_limit_range_has_the_plans_defaults_and_maxima() -> None:
    limits = PLANS.plan("basic").limits
    assert limits.default
    assert limits.default_request
    limit_range = desired().by_key[ObjectKey("LimitRange", "tenant-acme", "tenant-limits")]
    assert limit_range["spec"]["limits"] == [
        {
            "type": "Container",
            "default": limits.default,
            "defaultRequest": limits.default_request,
            "max": limits.max,
        }
    ]


def test_more_quotas_than_the_tenant_may_have_are_refused() -> None:
    quotas = [{"name": f"more-{index}", "hard": {"pods": 1}} for index in range(3)]
    with pytest.raises(
        InvalidSpec, match="6 ResourceQuotas, but quota 'tenant-quota-objects' limits resourcequotas to 5"
    ) as error:
        desired(quotas=quotas)
    assert error.value.field == "spec.quotas"
    assert hard(desired(quotas=quotas[:2], namespaces=weighted(a=1)), "a", "more-1") == {"pods": "1"}
