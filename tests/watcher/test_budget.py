"""With `quotaScope: Tenant`, the sum of the quotas never exceeds the budget, even while the quotas change."""

import contextlib
import threading
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from cluster.errors import ClusterError
from tenancy.base.kinds import CONFIG_MAP, RESOURCE_QUOTA
from tenancy.base.labels import TENANT_LABEL
from tenancy.base.manifest import Manifest
from tenancy.base.quantity import quantity_value
from tenancy.objects.object_counts import OBJECT_COUNTS
from tests.platform import NewTenant, Platform, tenant_manifest
from tests.waiting import eventually

BUDGET = {"cpu": "4", "memory": "4Gi", "storage": "10Gi"}
CROWDED_NAMESPACE = "tenant-crowded-a"
BEFORE = {"a": 1, "b": 1}
CHANGES: dict[str, dict[str, Any]] = {
    "weights": {"weights": {"a": 1, "b": 3}},
    "added": {"weights": {"a": 1, "b": 1, "c": 2}},
    "removed": {"weights": {"a": 1}},
    "replaced": {"weights": {"b": 1, "c": 3}},
    "lowered": {"weights": {"a": 1, "b": 3}, "budget": {"cpu": "1", "memory": "1Gi", "storage": "1Gi"}},
    "raised": {"weights": {"a": 3, "b": 1}, "budget": {"cpu": "5", "memory": "7Gi", "storage": "1Ti"}},
    # This change also changes quotaScope from Namespace to Tenant.
    "pooled": {"weights": {"a": 1, "b": 1, "c": 2}},
}

Quotas = dict[tuple[str, str], Manifest]
# The keys are a field (spec or status), a quota and a resource.
Sums = defaultdict[tuple[str, str, str], Decimal]


def spec(
    weights: dict[str, int] = BEFORE, budget: dict[str, str] = BUDGET, scope: str = "Tenant"
) -> dict[str, Any]:
    namespaces = [{"name": name, "weight": weight} for name, weight in weights.items()]
    return {"quotaScope": scope, "resourceQuotas": budget, "namespaces": namespaces}


class QuotaRecord(threading.Thread):
    """Records every change of the tenants' quotas since the record was created."""

    def __init__(self, platform: Platform) -> None:
        super().__init__(name="record quotas", daemon=True)
        self._platform = platform
        quotas, self._version = platform.admin.list(RESOURCE_QUOTA, TENANT_LABEL)
        self._before = {namespace_and_name(quota): quota for quota in quotas}
        self._events: list[tuple[str, Manifest]] = []

    def run(self) -> None:
        # The API server ends the watch after five minutes, or when the API server stops.
        with contextlib.suppress(ClusterError):
            for event in self._platform.admin.watch(RESOURCE_QUOTA, self._version, TENANT_LABEL):
                self._events.append(event)

    def snapshots(self, tenant: str) -> list[Quotas]:
        """The tenant's quotas at the start of the record, and after each change."""
        quotas = {key: quota for key, quota in self._before.items() if owner(quota) == tenant}
        snapshots = [quotas]
        for event, quota in list(self._events):
            if event != "BOOKMARK" and owner(quota) == tenant:
                others = {
                    key: other for key, other in snapshots[-1].items() if key != namespace_and_name(quota)
                }
                snapshots.append(
                    others if event == "DELETED" else {**others, namespace_and_name(quota): quota}
                )
        return snapshots


@pytest.fixture(scope="module")
def record(running_platform: Platform) -> Iterator[QuotaRecord]:
    """Change several tenants at the same time, each in another way, and record their quotas."""
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
    platform.verify_and_abandon(manifests.values())


@pytest.mark.parametrize("change", CHANGES)
def test_budget_is_never_exceeded(change: str, platform: Platform, record: QuotaRecord) -> None:
    name = f"thrifty-{change}"
    before = record.snapshots(name)[0]
    assert total(before, "cpu") == (8 if change == "pooled" else 4)
    active = platform.await_active(tenant_manifest(name))
    assert_never_exceeded(platform, active, record)
    after = live_quotas(platform, name)
    assert {namespace for namespace, _ in after} == set(active["status"]["namespaceStatus"])
    for resource, amount in spec(**CHANGES[change])["resourceQuotas"].items():
        key = "requests.storage" if resource == "storage" else resource
        assert total(after, key) == quantity_value(amount), resource


def test_share_below_the_usage_is_rejected_until_the_usage_drops(
    platform: Platform, new_tenant: NewTenant
) -> None:
    manifest = new_tenant("crowded", **spec())
    platform.await_active(manifest)
    names = [f"note-{index}" for index in range(6)]
    for name in names:
        note = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": CROWDED_NAMESPACE},
        }
        platform.apply(note)
    # Kubernetes creates one more ConfigMap in each namespace: kube-root-ca.crt.
    eventually(lambda: used(platform) == "7", "the quota counts all ConfigMaps")
    before = live_quotas(platform, "crowded")
    runs = platform.pulumi_run_count(tenant="crowded")

    platform.apply({**manifest, "spec": spec({"a": 1, "b": 4})})
    ready = platform.await_condition(manifest, "QuotaInUse")
    assert ready["status"] == "False"
    assert (
        f"namespace {CROWDED_NAMESPACE} uses 7 of configmaps, more than its new share 4" in ready["message"]
    )
    assert "raise the budget or the namespace's weight, or reduce the usage" in ready["message"]
    # The repair of this object comes after the quotas of the other namespace. These quotas must not change.
    policy = ("NetworkPolicy", "tenant-crowded-b", "tenant-isolation")
    original = platform.get(*policy)
    assert original is not None
    platform.patch(*policy, {"spec": {"ingress": [{}]}})
    eventually(
        lambda: (platform.get(*policy) or {}).get("spec") == original["spec"], "the NetworkPolicy is restored"
    )
    platform.await_condition(manifest, "QuotaInUse")
    after = live_quotas(platform, "crowded")
    assert {key: quota["spec"] for key, quota in after.items()} == {
        key: quota["spec"] for key, quota in before.items()
    }
    assert platform.pulumi_run_count(tenant="crowded") == runs

    for name in names[:3]:
        platform.admin.delete(CONFIG_MAP, name, CROWDED_NAMESPACE)
    platform.await_active(manifest)
    quota = live_quotas(platform, "crowded")[CROWDED_NAMESPACE, "tenant-quota-objects"]
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

    def complete_snapshots() -> list[Quotas] | None:
        snapshots = record.snapshots("thrifty-edited")
        quota = snapshots[-1]["tenant-thrifty-edited-a", "tenant-quota"]
        is_in_force = quota["spec"]["hard"]["cpu"] == quota["status"]["hard"]["cpu"] == "3"
        return snapshots if is_in_force else None

    for quotas in eventually(complete_snapshots, "the share is restored"):
        for field in ("spec", "status"):
            assert sums(quotas)[field, "tenant-quota", "cpu"] <= 4
    platform.await_active(manifest)


def used(platform: Platform) -> str:
    quota = live_quotas(platform, "crowded")[CROWDED_NAMESPACE, "tenant-quota-objects"]
    return str(quota.get("status", {}).get("used", {}).get("configmaps"))


def live_quotas(platform: Platform, tenant: str) -> Quotas:
    quotas, _ = platform.admin.list(RESOURCE_QUOTA, f"{TENANT_LABEL}={tenant}")
    return {namespace_and_name(quota): quota for quota in quotas}


def namespace_and_name(quota: Manifest) -> tuple[str, str]:
    return quota["metadata"]["namespace"], quota["metadata"]["name"]


def owner(quota: Manifest) -> str:
    return str(quota["metadata"]["labels"][TENANT_LABEL])


def assert_never_exceeded(platform: Platform, active: Manifest, record: QuotaRecord) -> None:
    """Check that no write makes a sum exceed the budget, or increases a sum that exceeds it."""
    tenant = active["metadata"]["name"]

    def complete_snapshots() -> list[Quotas] | None:
        """All snapshots. None until the new quotas are in force and the last snapshot contains them."""
        live, snapshots = live_quotas(platform, tenant), record.snapshots(tenant)
        is_in_force = all(
            quota.get("status", {}).get("hard") == quota["spec"]["hard"] for quota in live.values()
        )
        return snapshots if is_in_force and snapshots[-1] == live else None

    before, *after = eventually(complete_snapshots, f"the quotas of {tenant} are in force")
    budget = sums(
        {key: quota for key, quota in after[-1].items() if key[0] in active["status"]["namespaceStatus"]}
    )
    previous = sums(before)
    for quotas in after:
        current = sums(quotas)
        for (field, quota, resource), amount in current.items():
            allowed = max(budget["spec", quota, resource], previous[field, quota, resource])
            assert amount <= allowed, f"{resource} of {quota} is {amount} in all; {allowed} is allowed"
        previous = current
    assert len(after) > len(after[-1])


def sums(quotas: Quotas) -> Sums:
    """The sums of the limits in the specs, and of the limits in the statuses, which the API server enforces.

    Limits that are not part of the budget are left out.
    """
    totals: Sums = defaultdict(Decimal)
    for (_, name), quota in quotas.items():
        for field in ("spec", "status"):
            for resource, amount in (quota.get(field, {}).get("hard") or {}).items():
                if resource != "resourcequotas" and name != OBJECT_COUNTS:
                    totals[field, name, resource] += quantity_value(amount)
    return totals


def total(quotas: Quotas, resource: str) -> Decimal:
    amounts = [quota["spec"]["hard"].get(resource, "0") for quota in quotas.values()]
    return sum(map(quantity_value, amounts), Decimal(0))
