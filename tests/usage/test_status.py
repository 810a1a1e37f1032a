"""A Tenant's status reports the same usage as the cluster. The pods of the tests run on simulated nodes."""

from cluster.errors import ClusterError
from tenancy.base.quantity import quantity_value
from tests.integrations.pods import POD
from tests.platform import NewTenant, Platform
from tests.usage.cluster import (
    CLAIM,
    QUOTA_KEYS,
    await_phase,
    claim,
    live_pod_usage,
    quota_amount,
    reported_pod_usage,
    start_pods,
    status_usage,
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
    # This pod has finished, so it uses no resources.
    await_phase(platform, B, start_pods(platform, B, 1, outcome="complete"), "Succeeded")

    def is_claimed() -> bool:
        """Create the claim.

        If the quota's status changes at the same time, the API server reports a conflict.
        """
        try:
            platform.admin.create(CLAIM, claim(B, "2Gi"))
        except ClusterError as error:
            if error.status != 409:
                raise
            return False
        return True

    eventually(is_claimed, "the claim is created")
    assert live_pod_usage(platform, A, B).pods == 4

    def is_reported() -> bool:
        return reported_pod_usage(platform, manifest) == live_pod_usage(platform, A, B) and (
            status_usage(platform, manifest)["quotas"]["storage"]["used"] == "2Gi"
        )

    eventually(is_reported, "the status reports the sum over pods")
    usage = status_usage(platform, manifest)
    for resource, key in QUOTA_KEYS.items():
        for part in ("used", "hard"):
            amount = quantity_value(usage["quotas"][resource][part])
            assert amount == quota_amount(platform, part, key, A, B) > 0, (resource, part)
    # This cluster has no metrics API.
    assert usage.keys() == {"pods", "quotas"}

    namespaces = (platform.tenant(manifest) or {})["status"]["namespaceStatus"]
    for namespace in (A, B):
        parts = namespaces[namespace]["resourceUsage"]
        for resource in ("cpu", "memory", "storage"):
            assert quantity_value(parts[resource]) == quota_amount(
                platform, "used", QUOTA_KEYS[resource], namespace
            )
    series = platform.metrics("tenancy_usage_used")
    assert series[A, "pods", "used"] == 3
    assert series[B, "pods", "used"] == 1
    assert series[B, "storage", "used"] == 2 * 2**30

    # The status still reports the usage while the tenant is paused.
    platform.apply({**manifest, "spec": {**manifest["spec"], "paused": True}})
    platform.await_condition(manifest, "Paused")
    for name in running[:2]:
        platform.admin.delete(POD, name, A)
    eventually(
        lambda: reported_pod_usage(platform, manifest) == live_pod_usage(platform, A, B),
        "the status reports the lower usage",
    )
    assert status_usage(platform, manifest)["pods"] == 2
