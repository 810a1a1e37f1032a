"""The watcher collects changes of usage before it writes them. The writes cause no further reconciles."""

from tenancy.base.quantity import quantity_value
from tests.integrations.pods import POD
from tests.platform import NewTenant, Platform
from tests.usage.cluster import PERIODS, QUOTA_KEYS, quota_amount, start_pods, status_usage
from tests.waiting import eventually

NAMESPACE, LATER = "tenant-quiet", "tenant-quiet-later"
# The number of pods that the plan allows.
POD_COUNT = 10
# The status period is longer than any test. So the watcher writes the usage only when it reconciles the
# tenant.
LONG = (*PERIODS, "--usage-status-period", "3600")


def reconcile_count(platform: Platform, tenant: str) -> int:
    """The number of times that the watcher has reconciled the tenant since the watcher's last start."""
    messages = ("stack applied", "tenant unchanged", "tenant failed")
    return sum(1 for line in platform.log() if line["message"] in messages and line["tenant"] == tenant)


def test_changes_of_usage_are_collected_and_run_nothing(platform: Platform, new_tenant: NewTenant) -> None:
    manifest, later = new_tenant("quiet", plan="basic"), new_tenant("quiet-later", plan="basic")
    for tenant in (manifest, later):
        platform.await_active(tenant)
    platform.stop()
    platform.start(*LONG)
    eventually(lambda: reconcile_count(platform, "quiet"), "the watcher has reconciled the tenant")
    assert status_usage(platform, manifest)["pods"] == 0

    names = start_pods(platform, NAMESPACE, POD_COUNT)
    eventually(
        lambda: platform.metrics("tenancy_usage_used")[NAMESPACE, "pods", "quiet"] == POD_COUNT,
        "the watcher counts all pods",
    )
    assert status_usage(platform, manifest)["pods"] == 0
    assert (reconcile_count(platform, "quiet"), platform.pulumi_run_count(tenant="quiet")) == (1, 0)
    platform.stop()

    platform.start(*PERIODS)
    eventually(lambda: status_usage(platform, manifest)["pods"] == POD_COUNT, "the status reports all pods")
    # Delete the pods only now. While pods are created and deleted at the same time, a ResourceQuota may count
    # one pod too few for some time.
    for name in names:
        platform.admin.delete(POD, name, NAMESPACE)

    def is_end_reported() -> bool:
        quotas = status_usage(platform, manifest)["quotas"]
        return all(
            quantity_value(quotas[resource]["used"]) == 0 == quota_amount(platform, "used", key, NAMESPACE)
            for resource, key in QUOTA_KEYS.items()
        )

    eventually(is_end_reported, "the status reports no usage")
    # The watcher's watch reports its own write. If this caused a reconcile, it would have happened before the
    # status of the other tenant shows the new pod.
    count_before = reconcile_count(platform, "quiet")
    start_pods(platform, LATER, 1)
    eventually(
        lambda: status_usage(platform, later)["pods"] == 1, "the status of the other tenant reports its pod"
    )
    assert (reconcile_count(platform, "quiet"), platform.pulumi_run_count(tenant="quiet")) == (
        count_before,
        0,
    )
