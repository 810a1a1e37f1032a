"""What Prometheus is told agrees with the cluster."""

from collections import Counter
from typing import Any, cast

import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from cluster.live_objects import ManagedObjects
from cluster.tenants import Tenants
from tenancy.base.kinds import TENANTS
from tests.platform import NewTenant, Platform
from tests.waiting import eventually
from watcher.metrics import Metrics


def quotas(platform: Platform, tenant: str, name: str) -> dict[tuple[str, ...], float]:
    """A quota metric of one tenant, by namespace, quota and resource."""
    found = platform.metrics(name)
    return {tuple(place): value for (*place, owner), value in found.items() if owner == tenant}


def test_quota_figures_are_the_clusters_in_base_units(platform: Platform, new_tenant: NewTenant) -> None:
    platform.await_active(new_tenant("measured", plan="basic", namespaces=[{"name": "a"}, {"name": "b"}]))
    metadata = {"name": "counted", "namespace": "tenant-measured-a"}
    platform.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {}})

    hard = quotas(platform, "measured", "tenancy_quota_hard")
    assert hard["tenant-measured-b", "tenant-quota", "cpu"] == 0.5
    assert hard["tenant-measured-b", "tenant-quota", "memory"] == 2**30
    live = [found for (kind, *_), found in platform.objects("measured").items() if kind == "ResourceQuota"]
    assert hard.keys() == {
        (found["metadata"]["namespace"], found["metadata"]["name"], resource)
        for found in live
        for resource in found["spec"]["hard"]
    }

    def agrees() -> bool:
        used = quotas(platform, "measured", "tenancy_quota_used")
        told = platform.get("ResourceQuota", "tenant-measured-a", "tenant-quota-objects")
        count = int((told or {})["status"]["used"]["configmaps"])
        # Kubernetes puts one of its own into each namespace.
        return count == 2 == used.get(("tenant-measured-a", "tenant-quota-objects", "configmaps"))

    eventually(agrees, "the ConfigMap is counted")
    assert quotas(platform, "measured", "tenancy_quota_used").keys() == hard.keys()


def test_figures_of_a_deleted_tenant_are_gone(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("unmeasured", plan="basic")
    platform.await_active(manifest)
    assert quotas(platform, "unmeasured", "tenancy_quota_hard")
    platform.delete(manifest)
    platform.await_gone(manifest)
    eventually(lambda: not quotas(platform, "unmeasured", "tenancy_quota_hard"), "its figures are gone")


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
        told = platform.metrics("tenancy_tenants")
        return told == {(phase,): live[phase] for phase in ("Pending", "Active", "Terminating", "Failed")}

    eventually(agrees, "the figures agree")


def test_turns_are_counted_by_what_came_of_them(platform: Platform, new_tenant: NewTenant) -> None:
    """Counts are over all tenants, and so is the log: both begin with the watcher."""
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

    eventually(lambda: logged("tenant unchanged", "turned"), "there was a look after the update")
    assert [line["repaired"] for line in logged("stack applied", "turned")] == [0, 1]
    assert logged("tenant failed", "turned-bad")

    def agree() -> bool:
        before = [logged(message) for message in ("stack applied", "tenant unchanged")]
        results = platform.metrics("tenancy_reconciles_total")
        told = {
            "applied": results["applied",],
            "timed": platform.metrics("tenancy_reconcile_seconds_count")[()],
            "repaired": platform.metrics("tenancy_drift_repaired_total")[()],
            "unchanged": results["unchanged",],
        }
        applied, unchanged = before
        return told == {
            "applied": len(applied),
            "timed": len(applied),
            "repaired": sum(line["repaired"] for line in applied),
            "unchanged": len(unchanged),
        }

    eventually(agree, "the figures are those of the log")
    failures = len(logged("tenant failed"))
    eventually(
        lambda: platform.metrics("tenancy_reconciles_total")["failed",] >= failures, "each failure is counted"
    )
    took_s = sum(line["took_s"] for line in logged("stack applied", "turned"))
    assert platform.metrics("tenancy_reconcile_seconds_sum")[()] >= took_s


def test_watcher_tells_of_itself(platform: Platform) -> None:
    """By the figures that the kernel has for its process."""
    assert platform.process is not None
    process = psutil.Process(platform.process.pid)

    def cpu_s() -> float:
        times = process.cpu_times()
        return times.user + times.system

    before_s, told_s = cpu_s(), platform.metrics("process_cpu_seconds_total")[()]
    assert 0 < before_s <= told_s <= cpu_s()
    memory = platform.metrics("process_resident_memory_bytes")[()]
    assert memory == pytest.approx(process.memory_info().rss, rel=0.5)


def test_queue_and_plans_are_told_as_they_are() -> None:
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
    )
    told = {
        sample.name: sample.value
        for family in text_string_to_metric_families(metrics.text())
        for sample in family.samples
    }
    assert told["tenancy_queue_depth"] == 3
    assert told["tenancy_plans_valid"] == 0
    assert told["tenancy_usage_recorded"] == 1
