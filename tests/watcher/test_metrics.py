"""What Prometheus is told agrees with the cluster."""

from collections import Counter

from tenancy.kinds import TENANTS
from tests.platform import NewTenant, Platform
from tests.waiting import eventually


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
    def figures() -> dict[str, float]:
        results = platform.metrics("tenancy_reconciles_total")
        return {
            **{result: results[result,] for result in ("applied", "unchanged", "failed")},
            "timed": platform.metrics("tenancy_reconcile_seconds_count")[()],
            "repaired": platform.metrics("tenancy_drift_repaired_total")[()],
        }

    platform.stop()
    platform.start()
    assert platform.metrics("tenancy_drift_repaired_total") == {(): 0}
    manifest = new_tenant("turned", plan="basic")
    platform.await_active(manifest)
    platform.remove("Role", "tenant-turned", "tenant-viewer")
    platform.await_condition(manifest, "Repaired", "Drifted")
    new_tenant("turned-bad", plan="gold")
    eventually(lambda: figures()["failed"] >= 1, "the failed turn is counted")
    eventually(lambda: figures()["unchanged"] >= 1, "the look after the update is counted")
    now = figures()
    assert now["applied"] == now["timed"] == 2
    assert now["repaired"] == 1
    assert platform.metrics("tenancy_reconcile_seconds_sum")[()] > 0


def test_watcher_tells_of_itself(platform: Platform) -> None:
    assert platform.metrics("tenancy_plans_valid") == {(): 1}
    assert platform.metrics("tenancy_queue_depth")[()] >= 0
    assert platform.metrics("process_cpu_seconds_total")[()] > 0
    assert platform.metrics("process_resident_memory_bytes")[()] > 0
