"""Telling of use costs little: writes are few however much changes, and none sets anything in motion."""

import time

from tenancy.kinds import kind_of
from tenancy.manifest import Manifest
from tests.integrations.pods import POD
from tests.platform import NewTenant, Platform
from tests.usage.cluster import start_pods, told_usage
from tests.waiting import eventually

# How often the status tells of use at most, and what may be under way at the start and at the end.
EACH_S, AROUND = 10, 2
NAMESPACE = "tenant-quiet"
# As many as the plan has room for.
PODS = 10


def version(platform: Platform, manifest: Manifest) -> str:
    found = platform.tenant(manifest)
    assert found is not None
    text: str = found["metadata"]["resourceVersion"]
    return text


def writes_since(platform: Platform, manifest: Manifest, start: str) -> int:
    """How often the tenant was written since that version of it: the API server tells each."""
    end = version(platform, manifest)
    if end == start:
        return 0
    events = platform.admin.watch(kind_of(manifest), start, name=manifest["metadata"]["name"])
    for count, (_, found) in enumerate(events, 1):
        if found["metadata"]["resourceVersion"] == end:
            return count
    raise AssertionError("the watch ended before the newest version")


def turns(platform: Platform) -> float:
    return sum(platform.metrics("tenancy_reconciles_total").values())


def test_many_changes_of_use_are_few_writes_and_run_nothing(
    platform: Platform, new_tenant: NewTenant
) -> None:
    manifest = new_tenant("quiet", plan="basic")
    platform.await_active(manifest)
    eventually(lambda: told_usage(platform, manifest).get("pods") == 0, "it is told that there are none")

    start, runs, turned = version(platform, manifest), platform.runs(), turns(platform)
    began = time.monotonic()
    names = start_pods(platform, NAMESPACE, PODS)
    eventually(lambda: told_usage(platform, manifest)["pods"] == PODS, "all pods are told of")
    # Only now: where pods come while others go, a ResourceQuota was seen to count one too few for a while.
    for name in names:
        platform.admin.delete(POD, name, NAMESPACE)
    eventually(lambda: told_usage(platform, manifest)["pods"] == 0, "their end is told")
    most = (time.monotonic() - began) / EACH_S + AROUND
    assert 0 < writes_since(platform, manifest, start) <= min(most, 2 * PODS)
    assert turns(platform) - turned <= most
    assert platform.runs() == runs

    # What was written comes back by the watch. By the time that another tenant's use is told, as late as may
    # be, whatever that has set in motion would have been seen, too.
    told = version(platform, manifest)
    other = new_tenant("quiet-later", plan="basic")
    platform.await_active(other)
    start_pods(platform, "tenant-quiet-later", 1)
    eventually(lambda: told_usage(platform, other).get("pods") == 1, "the other's pod is told of")
    assert version(platform, manifest) == told
