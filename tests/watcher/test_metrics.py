"""The watcher's metrics match the cluster, the log and the process."""

from collections import Counter
from typing import Any, cast

import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from cluster.live_objects import ManagedObjects
from cluster.tenants import Tenants
from tenancy.base.kinds import TENANTS
from tenancy.objects.object_counts import OBJECT_COUNTS
from tests.platform import NewTenant, Platform
from tests.waiting import eventually
from watcher.metrics import Metrics


def quotas(platform: Platform, tenant: str, name: str) -> dict[tuple[str, ...], float]:
    """The values of a quota metric for one tenant, keyed by namespace, quota and resource."""
    samples = platform.metrics(name)
    return {tuple(labels): value for (*labels, owner), value in samples.items() if owner == tenant}


def test_quota_metrics_match_the_cluster_in_base_units(platform: Platform, new_tenant: NewTenant) -> None:
    platform.await_active(new_tenant("measured", plan="basic", namespaces=[{"name": "a"}, {"name": "b"}]))
    metadata = {"name": "counted", "namespace": "tenant-measured-a"}
    platform.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {}})

    hard = quotas(platform, "measured", "tenancy_quota_hard")
    assert hard["tenant-measured-b", "tenant-quota", "cpu"] == 0.5
    assert hard["tenant-measured-b", "tenant-quota", "memory"] == 2**30
    live_quotas = [
        item for (kind, *_), item in platform.objects("measured").items() if kind == "ResourceQuota"
    ]
    assert {key for key in hard if key[1] != OBJECT_COUNTS} == {
        (quota["metadata"]["namespace"], quota["metadata"]["name"], resource)
        for quota in live_quotas
        for resource in quota["spec"]["hard"]
        if quota["metadata"]["name"] != OBJECT_COUNTS
    }

    def agrees() -> bool:
        used = quotas(platform, "measured", "tenancy_quota_used")
        quota = platform.get("ResourceQuota", "tenant-measured-a", "tenant-quota-objects")
        count = int((quota or {})["status"]["used"]["configmaps"])
        roles = used.get(("tenant-measured-a", OBJECT_COUNTS, "count/roles.rbac.authorization.k8s.io"))
        # Kubernetes creates one more ConfigMap in each namespace.
        return roles == 3 and count == 2 == used.get(
            ("tenant-measured-a", "tenant-quota-objects", "configmaps")
        )

    eventually(agrees, "the ConfigMap and the Roles are counted")
    used, hard = (quotas(platform, "measured", f"tenancy_quota_{name}") for name in ("used", "hard"))
    assert used.keys() == hard.keys()
    # There is no time series for a kind without objects.
    assert ("tenant-measured-a", OBJECT_COUNTS, "count/deployments.apps") not in hard


def test_metrics_of_a_deleted_tenant_are_removed(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("unmeasured", plan="basic")
    platform.await_active(manifest)
    assert quotas(platform, "unmeasured", "tenancy_quota_hard")
    platform.delete(manifest)
    platform.await_gone(manifest)
    eventually(lambda: not quotas(platform, "unmeasured", "tenancy_quota_hard"), "its metrics are removed")


def test_tenants_are_counted_by_phase(platform: Platform, new_tenant: NewTenant) -> None:
    platform.await_active(new_tenant("phase-good", plan="basic"))
    platform.await_condition(new_tenant("phase-bad", plan="gold"), "UnknownPlan")

    def agrees() -> bool:
        live = Counter(
            (tenant.get("status") or {}).get("phase", "Pending")
            for kind in TENANTS
            for tenant in platform.admin.list(kind)[0]
        )
        assert live["Active"] >= 1
        assert live["Failed"] >= 1
        counts = platform.metrics("tenancy_tenants")
        return counts == {(phase,): live[phase] for phase in ("Pending", "Active", "Terminating", "Failed")}

    eventually(agrees, "the metric matches the phases")


def test_reconciles_are_counted_by_result(platform: Platform, new_tenant: NewTenant) -> None:
    """The counters and the log both include all tenants since the start of the watcher."""
    good, bad = new_tenant("turned", plan="basic"), new_tenant("turned-bad", plan="gold")
    platform.await_active(good)
    platform.await_condition(bad, "UnknownPlan")
    platform.remove("Role", "tenant-turned", "tenant-viewer")
    platform.await_condition(good, "Repaired", "Drifted")

    def logged(message: str, tenant: str = "") -> list[dict[str, Any]]:
        return [
            line
            for line in platform.log()
            if line["message"] == message and (not tenant or line["tenant"] == tenant)
        ]

    eventually(lambda: logged("tenant unchanged", "turned"), "the tenant is reconciled after the update")
    assert [line["repaired"] for line in logged("stack applied", "turned")] == [0, 1]
    assert logged("tenant failed", "turned-bad")

    def agrees() -> bool:
        before = [logged(message) for message in ("stack applied", "tenant unchanged")]
        results = platform.metrics("tenancy_reconciles_total")
        counts = {
            "applied": results["applied",],
            "timed": platform.metrics("tenancy_reconcile_seconds_count")[()],
            "repaired": platform.metrics("tenancy_drift_repaired_total")[()],
            "unchanged": results["unchanged",],
        }
        applied, unchanged = before
        return counts == {
            "applied": len(applied),
            "timed": len(applied),
            "repaired": sum(line["repaired"] for line in applied),
            "unchanged": len(unchanged),
        }

    eventually(agrees, "the counters match the log")
    failures = len(logged("tenant failed"))
    eventually(
        lambda: platform.metrics("tenancy_reconciles_total")["failed",] >= failures, "each failure is counted"
    )
    took_s = sum(line["took_s"] for line in logged("stack applied", "turned"))
    assert platform.metrics("tenancy_reconcile_seconds_sum")[()] >= took_s


def test_process_metrics_match_the_process(platform: Platform) -> None:
    """The expected values come from the kernel, through psutil."""
    assert platform.process is not None
    process = psutil.Process(platform.process.pid)

    def cpu_s() -> float:
        times = process.cpu_times()
        return times.user + times.system

    before_s, metric_s = cpu_s(), platform.metrics("process_cpu_seconds_total")[()]
    assert 0 < before_s <= metric_s <= cpu_s()
    memory = platform.metrics("process_resident_memory_bytes")[()]
    assert memory == pytest.approx(process.memory_info().rss, rel=0.5)


def test_gauges_have_the_values_of_their_callbacks() -> None:
    class NoTenants:
        def names(self) -> set[str]:
            return set()

    metrics = Metrics(
        cast(Tenants, NoTenants()),
        ManagedObjects(),
        queue_depth=lambda: 3,
        has_valid_plans=lambda: False,
        is_usage_recorded=lambda: True,
        measured=lambda _: {},
        is_engine_usable=lambda: False,
        is_leading=lambda: True,
    )
    values = {
        sample.name: sample.value
        for family in text_string_to_metric_families(metrics.text())
        for sample in family.samples
    }
    assert values["tenancy_queue_depth"] == 3
    assert values["tenancy_plans_valid"] == 0
    assert values["tenancy_usage_recorded"] == 1
    assert values["tenancy_engine_usable"] == 0
