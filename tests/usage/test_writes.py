"""Telling of use costs little: changes are gathered for a while, and writing them sets nothing in motion."""

from tenancy.base.quantity import quantity_value
from tests.integrations.pods import POD
from tests.platform import NewTenant, Platform
from tests.usage.cluster import KEYS, PERIODS, by_quotas, start_pods, told_usage
from tests.waiting import eventually

NAMESPACE, LATER = "tenant-quiet", "tenant-quiet-later"
# As many as the plan has room for.
PODS = 10
# Longer than any test: what happens meanwhile is told by the next turn only.
LONG = (*PERIODS, "--usage-status-period", "3600")


def turns(platform: Platform, tenant: str) -> int:
    """How often the watcher has looked at the tenant since its last start."""
    messages = ("stack applied", "tenant unchanged", "tenant failed")
    return sum(1 for line in platform.log() if line["message"] in messages and line["tenant"] == tenant)


def test_changes_of_use_are_gathered_and_run_nothing(platform: Platform, new_tenant: NewTenant) -> None:
    manifest, later = new_tenant("quiet", plan="basic"), new_tenant("quiet-later", plan="basic")
    for tenant in (manifest, later):
        platform.await_active(tenant)
    platform.stop()
    platform.start(*LONG)
    eventually(lambda: turns(platform, "quiet"), "the watcher has looked at the tenant")
    assert told_usage(platform, manifest)["pods"] == 0

    names = start_pods(platform, NAMESPACE, PODS)
    eventually(
        lambda: platform.metrics("tenancy_usage_used")[NAMESPACE, "pods", "quiet"] == PODS,
        "the watcher knows of all pods",
    )
    assert told_usage(platform, manifest)["pods"] == 0
    assert (turns(platform, "quiet"), platform.runs(tenant="quiet")) == (1, 0)
    platform.stop()

    platform.start(*PERIODS)
    eventually(lambda: told_usage(platform, manifest)["pods"] == PODS, "all pods are told of")
    # Only now: where pods come while others go, a ResourceQuota was seen to count one too few for a while.
    for name in names:
        platform.admin.delete(POD, name, NAMESPACE)

    def is_end_told() -> bool:
        quotas = told_usage(platform, manifest)["quotas"]
        return all(
            quantity_value(quotas[resource]["used"]) == 0 == by_quotas(platform, "used", key, NAMESPACE)
            for resource, key in KEYS.items()
        )

    eventually(is_end_told, "their end is told")
    # What was written comes back by the watch. By the time that another tenant's use is told, as late as may
    # be, whatever that has set in motion would have been seen, too.
    turned = turns(platform, "quiet")
    start_pods(platform, LATER, 1)
    eventually(lambda: told_usage(platform, later)["pods"] == 1, "the other's pod is told of")
    assert (turns(platform, "quiet"), platform.runs(tenant="quiet")) == (turned, 0)
