"""What a tenant uses is told as the cluster counts it, with pods that really run."""

from tenancy.base.quantity import quantity_value
from tests.integrations.pods import POD
from tests.platform import NewTenant, Platform
from tests.usage.cluster import (
    CLAIM,
    KEYS,
    await_phase,
    by_pods,
    by_quotas,
    claim,
    start_pods,
    told,
    told_usage,
)
from tests.waiting import eventually

A, B = "tenant-used-a", "tenant-used-b"


def test_usage_in_status_is_the_sum_that_the_cluster_shows_paused_or_not(
    platform: Platform, new_tenant: NewTenant
) -> None:
    manifest = new_tenant("used", plan="basic", namespaces=[{"name": "a"}, {"name": "b"}])
    platform.await_active(manifest)
    running = start_pods(platform, A, 3)
    await_phase(platform, A, running, "Running")
    await_phase(platform, B, start_pods(platform, B, 1), "Running")
    # It has run, and uses nothing any more.
    await_phase(platform, B, start_pods(platform, B, 1, outcome="complete"), "Succeeded")
    platform.admin.create(CLAIM, claim(B, "2Gi"))
    assert by_pods(platform, A, B).pods == 4

    def is_told() -> bool:
        return told(platform, manifest) == by_pods(platform, A, B) and (
            told_usage(platform, manifest)["quotas"]["storage"]["used"] == "2Gi"
        )

    eventually(is_told, "the sum over pods is told")
    usage = told_usage(platform, manifest)
    for resource, key in KEYS.items():
        for part in ("used", "hard"):
            amount = quantity_value(usage["quotas"][resource][part])
            assert amount == by_quotas(platform, part, key, A, B) > 0, (resource, part)
    # Nobody measures here what pods really use.
    assert usage.keys() == {"pods", "quotas"}

    namespaces = (platform.tenant(manifest) or {})["status"]["namespaceStatus"]
    for namespace in (A, B):
        parts = namespaces[namespace]["resourceUsage"]
        for resource in ("cpu", "memory", "storage"):
            assert quantity_value(parts[resource]) == by_quotas(platform, "used", KEYS[resource], namespace)
    series = platform.metrics("tenancy_usage_used")
    assert series[A, "pods", "used"] == 3
    assert series[B, "pods", "used"] == 1
    assert series[B, "storage", "used"] == 2 * 2**30

    # A paused tenant is left as it is; what it uses goes on, and is told.
    platform.apply({**manifest, "spec": {**manifest["spec"], "paused": True}})
    platform.await_condition(manifest, "Paused")
    for name in running[:2]:
        platform.admin.delete(POD, name, A)
    eventually(lambda: told(platform, manifest) == by_pods(platform, A, B), "what was given back is told")
    assert told_usage(platform, manifest)["pods"] == 2
