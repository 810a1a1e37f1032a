"""A tenant's budget holds at every moment, whatever is moved between its namespaces."""

import contextlib
import threading
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from cluster.client import ClusterError
from tenancy.base.kinds import CONFIG_MAP, RESOURCE_QUOTA
from tenancy.base.manifest import Manifest
from tenancy.base.names import TENANT_LABEL
from tenancy.base.quantity import quantity_value
from tests.platform import NewTenant, Platform, tenant_manifest
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
    # From a budget for each namespace to one for all.
    "pooled": {"weights": {"a": 1, "b": 1, "c": 2}},
}

Quotas = dict[tuple[str, str], Manifest]
# By where the figure stands (spec or status), quota and resource.
Sums = defaultdict[tuple[str, str, str], Decimal]


def spec(
    weights: dict[str, int] = BEFORE, budget: dict[str, str] = BUDGET, scope: str = "Tenant"
) -> dict[str, Any]:
    namespaces = [{"name": name, "weight": weight} for name, weight in weights.items()]
    return {"quotaScope": scope, "resourceQuotas": budget, "namespaces": namespaces}


class QuotaRecord(threading.Thread):
    """Every single change of a tenant's quota, from now on."""

    def __init__(self, platform: Platform) -> None:
        super().__init__(name="record quotas", daemon=True)
        self._platform = platform
        quotas, self._version = platform.admin.list(RESOURCE_QUOTA, TENANT_LABEL)
        self._before = {place(quota): quota for quota in quotas}
        self._events: list[tuple[str, Manifest]] = []

    def run(self) -> None:
        # The server ends the watch after five minutes, or with itself.
        with contextlib.suppress(ClusterError):
            for event in self._platform.admin.watch(RESOURCE_QUOTA, self._version, TENANT_LABEL):
                self._events.append(event)

    def moments(self, tenant: str) -> list[Quotas]:
        """The tenant's quotas at first, and after each change."""
        quotas = {key: quota for key, quota in self._before.items() if owner(quota) == tenant}
        found = [quotas]
        for event, quota in list(self._events):
            if event != "BOOKMARK" and owner(quota) == tenant:
                others = {key: other for key, other in found[-1].items() if key != place(quota)}
                found.append(others if event == "DELETED" else {**others, place(quota): quota})
        return found


@pytest.fixture(scope="module")
def record(running_platform: Platform) -> Iterator[QuotaRecord]:
    """All changes, made to a tenant each, at the same time."""
    platform = running_platform
    platform.ensure_started()
    manifests = {
        change: tenant_manifest(
            f"thrifty-{change}", **spec(scope="Namespace" if change == "pooled" else "Tenant")
        )
        for change in CHANGES
    }
    for manifest in manifests.values():
        platform.apply(manifest)
    for manifest in manifests.values():
        platform.await_active(manifest)
    record = QuotaRecord(platform)
    record.start()
    for change, manifest in manifests.items():
        platform.apply({**manifest, "spec": spec(**CHANGES[change])})
    yield record
    platform.verify_and_delete(manifests.values())


@pytest.mark.parametrize("change", CHANGES)
def test_budget_is_passed_at_no_moment(change: str, platform: Platform, record: QuotaRecord) -> None:
    name = f"thrifty-{change}"
    before = record.moments(name)[0]
    assert total(before, "cpu") == (8 if change == "pooled" else 4)
    active = platform.await_active(tenant_manifest(name))
    assert_never_passed(platform, active, record)
    after = live_quotas(platform, name)
    assert {home for home, _ in after} == set(active["status"]["namespaceStatus"])
    for resource, figure in spec(**CHANGES[change])["resourceQuotas"].items():
        key = "requests.storage" if resource == "storage" else resource
        assert total(after, key) == quantity_value(figure), resource


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
    before = live_quotas(platform, "crowded")
    runs = platform.pulumi_run_count(tenant="crowded")

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
    after = live_quotas(platform, "crowded")
    assert {key: quota["spec"] for key, quota in after.items()} == {
        key: quota["spec"] for key, quota in before.items()
    }
    assert platform.pulumi_run_count(tenant="crowded") == runs

    for name in names[:3]:
        platform.admin.delete(CONFIG_MAP, name, HOME)
    platform.await_active(manifest)
    quota = live_quotas(platform, "crowded")[HOME, "tenant-quota-objects"]
    assert quota["spec"]["hard"]["configmaps"] == "4"


def test_edited_shares_are_lowered_before_others_are_raised(
    platform: Platform, new_tenant: NewTenant
) -> None:
    shares = spec({"a": 3, "b": 1})
    manifest = new_tenant("thrifty-edited", **shares)
    platform.await_active(manifest)
    platform.apply({**manifest, "spec": {**shares, "paused": True}})
    platform.await_condition(manifest, "Paused")
    for namespace, cpu in (("a", "1"), ("b", "3")):
        change = {"spec": {"hard": {"cpu": cpu}}}
        platform.patch("ResourceQuota", f"tenant-thrifty-edited-{namespace}", "tenant-quota", change)
    record = QuotaRecord(platform)
    record.start()
    platform.apply({**manifest, "spec": {**shares, "paused": False}})

    def moments() -> list[Quotas] | None:
        found = record.moments("thrifty-edited")
        quota = found[-1]["tenant-thrifty-edited-a", "tenant-quota"]
        is_in_force = quota["spec"]["hard"]["cpu"] == quota["status"]["hard"]["cpu"] == "3"
        return found if is_in_force else None

    for quotas in eventually(moments, "the share is restored"):
        for field in ("spec", "status"):
            assert sums(quotas)[field, "tenant-quota", "cpu"] <= 4
    platform.await_active(manifest)


def used(platform: Platform) -> str:
    quota = live_quotas(platform, "crowded")[HOME, "tenant-quota-objects"]
    return str(quota.get("status", {}).get("used", {}).get("configmaps"))


def live_quotas(platform: Platform, tenant: str) -> Quotas:
    found, _ = platform.admin.list(RESOURCE_QUOTA, f"{TENANT_LABEL}={tenant}")
    return {place(quota): quota for quota in found}


def place(quota: Manifest) -> tuple[str, str]:
    return quota["metadata"]["namespace"], quota["metadata"]["name"]


def owner(quota: Manifest) -> str:
    return str(quota["metadata"]["labels"][TENANT_LABEL])


def assert_never_passed(platform: Platform, active: Manifest, record: QuotaRecord) -> None:
    """No update may leave a sum above the budget, but one that was above it already, and does not grow."""
    tenant = active["metadata"]["name"]

    def moments() -> list[Quotas] | None:
        """All, once the API server goes by the new figures, and that is on record."""
        live, found = live_quotas(platform, tenant), record.moments(tenant)
        is_in_force = all(
            quota.get("status", {}).get("hard") == quota["spec"]["hard"] for quota in live.values()
        )
        return found if is_in_force and found[-1] == live else None

    before, *after = eventually(moments, f"the quotas of {tenant} are in force")
    budget = sums(
        {key: quota for key, quota in after[-1].items() if key[0] in active["status"]["namespaceStatus"]}
    )
    last = sums(before)
    for quotas in after:
        at_this_moment = sums(quotas)
        for (field, quota, resource), amount in at_this_moment.items():
            allowed = max(budget["spec", quota, resource], last[field, quota, resource])
            assert amount <= allowed, f"{resource} of {quota} is {amount} in all; {allowed} is allowed"
        last = at_this_moment
    assert len(after) > len(after[-1])


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
