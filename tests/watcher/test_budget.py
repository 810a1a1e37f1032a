"""A tenant's budget holds at every moment, whatever is moved between its namespaces."""

from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from tenancy.kinds import CONFIG_MAP, RESOURCE_QUOTA
from tenancy.manifest import Manifest
from tenancy.names import TENANT_LABEL
from tenancy.quantity import quantity_value
from tests.platform import NewTenant, Platform
from tests.waiting import eventually

BUDGET = {"cpu": "4", "memory": "4Gi", "storage": "10Gi"}
HOME = "tenant-crowded-a"
BEFORE = {"a": 1, "b": 1}
CHANGES: dict[str, dict[str, Any]] = {
    "weights": {"weights": {"a": 1, "b": 3}},
    "added": {"weights": {"a": 1, "b": 1, "c": 2}},
    "removed": {"weights": {"a": 1}},
    "replaced": {"weights": {"b": 1, "c": 3}},
    "lowered": {"weights": {"a": 1, "b": 3}, "budget": {"cpu": "1", "memory": "1Gi", "storage": "1Gi"}},
    "raised": {"weights": {"a": 3, "b": 1}, "budget": {"cpu": "5", "memory": "7Gi", "storage": "1Ti"}},
}

Quotas = dict[tuple[str, str], Manifest]
# By where the figure stands (spec or status), quota and resource.
Sums = defaultdict[tuple[str, str, str], Decimal]


def spec(
    weights: dict[str, int] = BEFORE, budget: dict[str, str] = BUDGET, scope: str = "Tenant"
) -> dict[str, Any]:
    namespaces = [{"name": name, "weight": weight} for name, weight in weights.items()]
    return {"quotaScope": scope, "resourceQuotas": budget, "namespaces": namespaces}


@pytest.mark.parametrize("change", CHANGES)
def test_budget_is_passed_at_no_moment(change: str, platform: Platform, new_tenant: NewTenant) -> None:
    name = f"thrifty-{change}"
    manifest = new_tenant(name, **spec())
    platform.await_active(manifest)
    before, version = live_quotas(platform, name)
    assert total(before, "cpu") == 4

    wanted = spec(**CHANGES[change])
    platform.apply({**manifest, "spec": wanted})
    active = platform.await_active(manifest)

    assert_never_passed(platform, active, before, version)
    after, _ = live_quotas(platform, name)
    assert {home for home, _ in after} == set(active["status"]["namespaceStatus"])
    for resource, figure in wanted["resourceQuotas"].items():
        key = "requests.storage" if resource == "storage" else resource
        assert total(after, key) == quantity_value(figure), resource
    platform.expect_no_changes(name)


def test_switch_to_one_budget_lowers_before_a_namespace_is_added(
    platform: Platform, new_tenant: NewTenant
) -> None:
    manifest = new_tenant("pooled", **spec(scope="Namespace"))
    platform.await_active(manifest)
    before, version = live_quotas(platform, "pooled")
    assert total(before, "cpu") == 8

    platform.apply({**manifest, "spec": spec({"a": 1, "b": 1, "c": 2})})
    active = platform.await_active(manifest)
    assert_never_passed(platform, active, before, version)
    assert total(live_quotas(platform, "pooled")[0], "cpu") == 4


def test_share_below_what_is_used_is_refused_until_some_is_freed(
    platform: Platform, new_tenant: NewTenant
) -> None:
    manifest = new_tenant("crowded", **spec())
    platform.await_active(manifest)
    names = [f"note-{index}" for index in range(6)]
    for name in names:
        note = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": HOME}}
        platform.apply(note)
    # The cluster itself keeps one more there, with its certificate.
    eventually(lambda: used(platform) == "7", "all are counted")
    before, _ = live_quotas(platform, "crowded")
    runs = platform.runs("up")

    platform.apply({**manifest, "spec": spec({"a": 1, "b": 4})})
    told = platform.await_condition(manifest, "QuotaInUse")
    assert told["status"] == "False"
    assert f"namespace {HOME} uses 7 of configmaps, more than its new share 4" in told["message"]
    assert "raise the budget or the namespace's weight, or free some of it" in told["message"]
    # What is put back meanwhile comes after the quotas of the other namespace.
    wall = ("NetworkPolicy", "tenant-crowded-b", "tenant-isolation")
    closed = platform.get(*wall)
    assert closed is not None
    platform.patch(*wall, {"spec": {"ingress": [{}]}})
    eventually(lambda: (platform.get(*wall) or {}).get("spec") == closed["spec"], "the wall is closed again")
    platform.await_condition(manifest, "QuotaInUse")
    after, _ = live_quotas(platform, "crowded")
    assert {key: quota["spec"] for key, quota in after.items()} == {
        key: quota["spec"] for key, quota in before.items()
    }
    assert platform.runs("up") == runs

    for name in names[:3]:
        platform.admin.delete(CONFIG_MAP, name, HOME)
    platform.await_active(manifest)
    quota = live_quotas(platform, "crowded")[0][HOME, "tenant-quota-objects"]
    assert quota["spec"]["hard"]["configmaps"] == "4"


def used(platform: Platform) -> str:
    quota = live_quotas(platform, "crowded")[0][HOME, "tenant-quota-objects"]
    return str(quota.get("status", {}).get("used", {}).get("configmaps"))


def live_quotas(platform: Platform, tenant: str) -> tuple[Quotas, str]:
    """The tenant's quotas, and the version from which a watch shows what came after."""
    found, version = platform.admin.list(RESOURCE_QUOTA, f"{TENANT_LABEL}={tenant}")
    return {place(quota): quota for quota in found}, version


def place(quota: Manifest) -> tuple[str, str]:
    return quota["metadata"]["namespace"], quota["metadata"]["name"]


def assert_never_passed(platform: Platform, active: Manifest, before: Quotas, version: str) -> None:
    """No update may leave a sum above the budget, but one that was above it already, and does not grow."""
    tenant = active["metadata"]["name"]
    now, _ = live_quotas(platform, tenant)
    wanted = active["status"]["namespaceStatus"]
    budget = sums({key: quota for key, quota in now.items() if key[0] in wanted})
    last = sums(before)
    count = 0
    for quotas in moments(platform, tenant, before, version, until=now):
        at_this_moment = sums(quotas)
        for (field, quota, resource), amount in at_this_moment.items():
            allowed = max(budget["spec", quota, resource], last[field, quota, resource])
            assert amount <= allowed, f"{resource} of {quota} is {amount} in all; {allowed} is allowed"
        last = at_this_moment
        count += 1
    assert count > len(now)


def moments(platform: Platform, tenant: str, quotas: Quotas, version: str, until: Quotas) -> Iterator[Quotas]:
    """The tenant's quotas after each single change since `version`: the API server has kept them all."""
    quotas = dict(quotas)
    for event, quota in platform.admin.watch(RESOURCE_QUOTA, version, f"{TENANT_LABEL}={tenant}"):
        if event in ("ADDED", "MODIFIED"):
            quotas[place(quota)] = quota
        elif event == "DELETED":
            del quotas[place(quota)]
        yield quotas
        if versions(quotas) == versions(until):
            return


def versions(quotas: Quotas) -> dict[tuple[str, str], str]:
    return {key: quota["metadata"]["resourceVersion"] for key, quota in quotas.items()}


def sums(quotas: Quotas) -> Sums:
    """Of what is written, and of what the API server goes by, which follows it."""
    found: Sums = defaultdict(Decimal)
    for (_, name), quota in quotas.items():
        for field in ("spec", "status"):
            for resource, amount in (quota.get(field, {}).get("hard") or {}).items():
                if resource != "resourcequotas":
                    found[field, name, resource] += quantity_value(amount)
    return found


def total(quotas: Quotas, resource: str) -> Decimal:
    figures = [quota["spec"]["hard"].get(resource, "0") for quota in quotas.values()]
    return sum(map(quantity_value, figures), Decimal(0))
