"""An operator runs `pulumi` commands on the watcher's stacks."""

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from tenancy.base.kinds import NAMESPACE
from tenancy.base.labels import ADOPTION_ANNOTATION
from tenancy.base.manifest import Manifest
from tests.platform import Platform, tenant_manifest

Completed = subprocess.CompletedProcess[str]

PEEK = tenant_manifest("peek", plan="pro", username="a b", namespaces=[{"name": "x"}, {"name": "y"}])
HAND = tenant_manifest("hand", plan="basic")
KEEP = tenant_manifest("handkeep", namespaces=[{"name": "a"}, {"name": "b"}])
BAD = tenant_manifest("handbad", plan="basic")
PAST = tenant_manifest("handpast", plan="basic")
TENANTS = (PEEK, HAND, KEEP, BAD, PAST)


@dataclass(frozen=True)
class ByHand:
    """The results of the operator's commands. They ran while the watcher was stopped."""

    preview: Completed
    up: Completed
    dropping_up: Completed
    bad_preview: Completed
    # Values in the cluster after the commands.
    cpu: str
    kept_namespace: Manifest | None


@pytest.fixture(scope="module")
def by_hand(running_platform: Platform) -> Iterator[ByHand]:
    """Stop the watcher, change the specs, run the operator's commands, and start the watcher again."""
    platform = running_platform
    platform.ensure_started()
    for manifest in TENANTS:
        platform.apply(manifest)
    for manifest in TENANTS:
        platform.await_active(manifest)
    platform.stop()
    platform.apply({**HAND, "spec": {"plan": "pro"}})
    platform.apply({**KEEP, "spec": {"deletionPolicy": "Retain", "namespaces": [{"name": "a"}]}})
    platform.apply({**BAD, "spec": {"plan": "gold"}})
    commands = {
        "preview": ("tenant-peek", "preview", "--expect-no-changes"),
        "up": ("tenant-hand", "up", "--yes", "--skip-preview", "--message", "by hand"),
        "dropping_up": ("tenant-handkeep", "up", "--yes", "--skip-preview"),
        "bad_preview": ("tenant-handbad", "preview"),
    }
    with ThreadPoolExecutor(len(commands)) as pool:
        futures = {name: pool.submit(platform.pulumi, *command) for name, command in commands.items()}
        results = {name: future.result() for name, future in futures.items()}
    quota = platform.objects("hand")["ResourceQuota", "tenant-hand", "tenant-quota"]
    kept_namespace = platform.namespace("tenant-handkeep-b")
    platform.apply(BAD)
    platform.start()
    yield ByHand(**results, cpu=quota["spec"]["hard"]["cpu"], kept_namespace=kept_namespace)
    platform.verify_and_abandon(TENANTS)


def output(completed: Completed) -> str:
    return completed.stdout + completed.stderr


def test_preview_after_the_watchers_up_shows_no_change(by_hand: ByHand) -> None:
    assert by_hand.preview.returncode == 0, output(by_hand.preview)
    assert "40 unchanged" in by_hand.preview.stdout


def test_up_by_hand_builds_what_the_watcher_builds(platform: Platform, by_hand: ByHand) -> None:
    assert by_hand.up.returncode == 0, output(by_hand.up)
    assert by_hand.cpu == "4"
    tenant = platform.await_active(HAND)
    # The watcher's next update makes no changes.
    assert tenant["status"]["lastUpdate"]["resourceChanges"].keys() == {"same"}
    assert tenant["status"]["lastUpdate"]["version"] == 3


def test_preview_by_hand_rejects_an_invalid_spec_with_its_field(by_hand: ByHand) -> None:
    assert by_hand.bad_preview.returncode != 0
    assert "spec.plan: there is no plan 'gold'" in output(by_hand.bad_preview)


@pytest.mark.usefixtures("by_hand")
def test_history_has_one_update_per_change_and_its_cause(platform: Platform) -> None:
    platform.apply({**PAST, "spec": {"plan": "pro"}})
    platform.await_active(PAST)
    platform.remove("Role", "tenant-handpast", "tenant-viewer")
    platform.await_condition(PAST, "Repaired", "Drifted")
    updates = platform.history("handpast")
    assert [update["message"] for update in updates] == [
        "drift: Role tenant-handpast/tenant-viewer deleted",
        "spec generation 2",
        "spec generation 1",
    ]
    assert {update["result"] for update in updates} == {"succeeded"}


def test_up_by_hand_keeps_namespaces_with_deletion_policy_retain(platform: Platform, by_hand: ByHand) -> None:
    assert by_hand.dropping_up.returncode != 0
    assert "from the stack, and could delete them: tenant-handkeep-b" in output(by_hand.dropping_up)
    platform.await_active(KEEP)
    for namespace in (by_hand.kept_namespace, platform.namespace("tenant-handkeep-b")):
        assert namespace is not None
        assert "deletionTimestamp" not in namespace["metadata"]
    allowed = {"metadata": {"annotations": {ADOPTION_ANNOTATION: "handkeep"}}}
    platform.admin.patch(NAMESPACE, "tenant-handkeep-b", allowed)
    platform.apply({**KEEP, "spec": {"namespaces": [{"name": "a"}, {"name": "b"}], "adopt": True}})
    platform.await_active(KEEP)
