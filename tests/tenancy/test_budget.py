"""When a budget or its weights change, the shares of the namespaces change in steps.

At no time is the sum of the shares larger than the budget.
"""

import random
from collections import defaultdict
from collections.abc import Mapping
from copy import deepcopy
from decimal import Decimal
from typing import Any

from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.base.quantity import quantity_value
from tenancy.desired import DesiredState, desired_state
from tenancy.plans import Plans
from tenancy.quota_transition import budget_problem, budget_step
from tenancy.spec.tenant import tenant_from_manifest

LiveObjects = dict[ObjectKey, Manifest]
Sums = defaultdict[tuple[str, str], Decimal]
HARD = {"cpu": "1", "memory": "1Gi", "pods": 20, "resourcequotas": 5}


def desired(
    hard: Mapping[str, Any] = HARD, quota: str = "main", scope: str = "Tenant", **weights: Any
) -> DesiredState:
    """The desired state of a tenant with one quota. The tenant has one namespace for each weight."""
    plan = {"maxNamespaces": 9, "quotas": [{"name": quota, "hard": {**HARD, **hard}}], "limits": {}}
    namespaces = [{"name": name, "weight": weight} for name, weight in weights.items()]
    spec = {"quotaScope": scope, "namespaces": namespaces}
    tenant = tenant_from_manifest({"metadata": {"name": "acme"}, "spec": spec})
    return desired_state(tenant, Plans.model_validate({"plans": {"basic": plan}}))


def quota_key(namespace: str, quota: str = "main") -> ObjectKey:
    return ObjectKey("ResourceQuota", f"tenant-acme-{namespace}", quota)


def hard_limits(state: DesiredState, resource: str, quota: str = "main") -> list[str]:
    """The hard limit of one resource in each namespace, in the order of the namespaces in the spec."""
    return [manifest["spec"]["hard"][resource] for key, manifest in state.by_key.items() if key.name == quota]


def live_after(*states: DesiredState) -> LiveObjects:
    return {key: deepcopy(manifest) for state in states for key, manifest in state.by_key.items()}


def test_state_with_room_is_applied_at_once() -> None:
    old = desired(a=1, b=1)
    for new in (old, desired({"cpu": 8, "memory": "8Gi"}, a=1, b=1), desired({"cpu": "100m"}, a=1, b=1)):
        assert budget_step(new, live_after(old)) is new
    assert budget_step(old, {}) is old


def test_namespace_scope_knows_no_steps() -> None:
    new = desired(scope="Namespace", a=1, b=1, c=1)
    assert budget_step(new, live_after(desired(a=1, b=1))) is new


def test_step_lowers_and_raises_only_what_has_room() -> None:
    old, new = desired(a=1, b=1), desired({"cpu": 5}, a=1, b=3, c=1)
    step = budget_step(new, live_after(old))
    # There is enough CPU in the budget for all new and old shares at once. The memory share of `a` must be
    # lowered first.
    assert hard_limits(step, "cpu") == ["1", "3", "1"]
    assert hard_limits(step, "memory") == [hard_limits(new, "memory")[0], "512Mi", "0"]
    assert hard_limits(step, "pods") == ["4", "10", "0"]
    assert hard_limits(step, "resourcequotas") == ["5"] * 3
    changed = {key for key in new.by_key if step.by_key[key] != new.by_key[key]}
    assert changed == {quota_key("b"), quota_key("c")}
    assert budget_step(new, live_after(step)) is new


def test_namespace_on_its_way_out_keeps_its_share_until_it_is_gone() -> None:
    old, new = desired(a=1, b=1), desired(a=1)
    step = budget_step(new, live_after(old))
    assert hard_limits(step, "cpu") == ["500m"]
    assert budget_step(new, live_after(old, step)) == step
    assert budget_step(new, live_after(step)) is new


def test_lowered_budget_waits_for_no_namespace_on_its_way_out() -> None:
    new = desired({"cpu": "100m", "memory": "1Mi", "pods": 1}, a=1)
    assert budget_step(new, live_after(desired(a=1, b=1))) is new


def test_switch_to_the_tenants_budget_lowers_what_each_namespace_had() -> None:
    old, new = desired(scope="Namespace", a=1, b=1), desired(a=1, b=1)
    assert budget_step(new, live_after(old)) is new
    grown = desired(a=1, b=1, c=1)
    assert hard_limits(budget_step(grown, live_after(old)), "pods") == ["7", "7", "0"]


def test_share_is_not_raised_while_a_lowered_one_is_still_in_force() -> None:
    old, new = desired(a=3, b=1), desired(a=1, b=3)
    live = live_after(budget_step(new, live_after(old)))
    assert budget_step(new, live) is new
    live[quota_key("a")]["status"] = {"hard": old.by_key[quota_key("a")]["spec"]["hard"]}
    assert budget_step(new, live) is not new


def test_quota_under_a_new_name_starts_from_what_the_old_one_gave() -> None:
    old, new = desired(quota="old", a=1, b=3), desired(quota="new", a=3, b=1)
    step = budget_step(new, live_after(old))
    assert hard_limits(step, "pods", "new") == ["5", "5"]
    assert budget_step(new, live_after(step)) is new


def test_share_below_what_is_used_is_told_with_what_to_do() -> None:
    old, new = desired(a=1, b=1), desired(a=1, b=4)
    live = live_after(old)
    used = {"cpu": "100m", "pods": "3", "memory": "300Mi"}
    live[quota_key("a")]["status"] = {"used": used}
    assert budget_problem(new, live) == (
        "namespace tenant-acme-a uses 300Mi of memory, more than its new share 214748365 in quota main: "
        "raise the budget or the namespace's weight, or reduce the usage"
    )
    used |= {"memory": "200Mi"}
    assert budget_problem(new, live) is None
    used |= {"pods": "5", "cpu": "201m"}
    problem = budget_problem(new, live) or ""
    assert "uses 201m of cpu" in problem
    assert problem.endswith("(and 1 more)")


def test_use_above_a_share_that_is_not_lowered_is_no_problem() -> None:
    live = live_after(desired(a=1, b=1))
    live[quota_key("a")]["status"] = {"used": {"pods": "11"}}
    assert budget_problem(desired(a=1, b=1), live) is None
    assert budget_problem(desired({"pods": 21}, a=1, b=1), live) is None
    assert budget_problem(desired(scope="Namespace", a=1, b=4), live) is None


def test_no_order_of_single_updates_passes_the_budget() -> None:
    dice, held_back = random.Random(1), 0
    for _ in range(100):
        old, new = random_state(dice, dice.choice(["Namespace", "Tenant"])), random_state(dice, "Tenant")
        live = {key: manifest for key, manifest in live_after(old).items() if key.kind == "ResourceQuota"}
        for quota in live.values():
            quota["status"] = {"hard": quota["spec"]["hard"]}
        for _ in range(60):
            step = budget_step(new, live)
            apply_in_random_order(dice, live, step, sums(live_after(new)))
            if step is new:
                break
            held_back += 1
        assert all(live[key]["spec"] == new.by_key[key]["spec"] for key in quota_keys(new))
    assert held_back > 100


def random_state(dice: random.Random, scope: str) -> DesiredState:
    amounts = {
        "cpu": f"{dice.randint(0, 4000)}m",
        "memory": dice.randint(0, 2**34),
        "pods": dice.randint(0, 30),
    }
    weights: dict[str, Any] = {name: dice.randint(1, 9) for name in dice.sample("abcde", dice.randint(1, 4))}
    return desired(amounts, scope=scope, **weights)


def apply_in_random_order(dice: random.Random, live: LiveObjects, step: DesiredState, budget: Sums) -> None:
    """Write each quota of the step, and update most statuses, in random order.

    Check the sums after each write. At the end, delete some quotas that are not part of the step, as if their
    namespaces had been deleted.
    """
    status_updates = [key for key in live if dice.random() < 0.8]
    actions = [(key, True) for key in quota_keys(step)] + [(key, False) for key in status_updates]
    dice.shuffle(actions)
    before = sums(live)
    for key, is_write in actions:
        if is_write:
            live[key] = {**step.by_key[key], "status": live.get(key, {}).get("status", {})}
        elif key in live:
            live[key]["status"] = {"hard": live[key]["spec"]["hard"]}
        after = sums(live)
        for name, amount in after.items():
            allowed = max(budget["written", name[1]], before[name])
            assert amount <= allowed, f"{key} makes {name} exceed the budget"
        before = after
    for key in [key for key in live if key not in step.by_key and dice.random() < 0.5]:
        del live[key]


def quota_keys(state: DesiredState) -> list[ObjectKey]:
    return [key for key in state.by_key if key.kind == "ResourceQuota"]


def sums(live: LiveObjects) -> Sums:
    """The sum of each resource over all namespaces.

    "written" sums the specs, and "in force" sums the statuses.
    """
    total: Sums = defaultdict(Decimal)
    for manifest in live.values():
        if manifest["kind"] == "ResourceQuota":
            written = manifest["spec"]["hard"]
            in_force = manifest.get("status", {}).get("hard", {})
            for resource in ("cpu", "memory", "pods"):
                total["written", resource] += quantity_value(written.get(resource, "0"))
                total["in force", resource] += quantity_value(in_force.get(resource, "0"))
    return total
