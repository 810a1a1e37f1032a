"""The other door: an operator's own `pulumi` on the watcher's stacks."""

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from tenancy.base.manifest import Manifest
from tests.platform import Platform, tenant_manifest

Ended = subprocess.CompletedProcess[str]

PEEK = tenant_manifest("peek", plan="pro", username="a b", namespaces=[{"name": "x"}, {"name": "y"}])
HAND = tenant_manifest("hand", plan="basic")
KEEP = tenant_manifest("handkeep", namespaces=[{"name": "a"}, {"name": "b"}])
BAD = tenant_manifest("handbad", plan="basic")
PAST = tenant_manifest("handpast", plan="basic")
TENANTS = (PEEK, HAND, KEEP, BAD, PAST)


@dataclass(frozen=True)
class ByHand:
    """What came of an operator's commands while there was no watcher."""

    preview: Ended
    up: Ended
    dropping_up: Ended
    bad_preview: Ended
    # As the commands left them.
    cpu: str
    kept_namespace: Manifest | None


@pytest.fixture(scope="module")
def by_hand(running_platform: Platform) -> Iterator[ByHand]:
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
        running = {name: pool.submit(platform.pulumi, *command) for name, command in commands.items()}
        ended = {name: future.result() for name, future in running.items()}
    quota = platform.objects("hand")["ResourceQuota", "tenant-hand", "tenant-quota"]
    kept = platform.namespace("tenant-handkeep-b")
    platform.apply(BAD)
    platform.start()
    yield ByHand(**ended, cpu=quota["spec"]["hard"]["cpu"], kept_namespace=kept)
    platform.verify_and_delete(TENANTS)


def told(ended: Ended) -> str:
    return ended.stdout + ended.stderr


def test_preview_after_the_watchers_up_shows_no_change(by_hand: ByHand) -> None:
    assert by_hand.preview.returncode == 0, told(by_hand.preview)
    assert "38 unchanged" in by_hand.preview.stdout


def test_up_by_hand_builds_what_the_watcher_builds(platform: Platform, by_hand: ByHand) -> None:
    assert by_hand.up.returncode == 0, told(by_hand.up)
    assert by_hand.cpu == "4"
    tenant = platform.await_active(HAND)
    # The watcher agrees: its own update finds nothing to change.
    assert tenant["status"]["lastUpdate"]["resourceChanges"].keys() == {"same"}
    assert tenant["status"]["lastUpdate"]["version"] == 3


def test_up_by_hand_refuses_a_bad_spec_by_its_field(by_hand: ByHand) -> None:
    assert by_hand.bad_preview.returncode != 0
    assert "spec.plan: there is no plan 'gold'" in told(by_hand.bad_preview)


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


def test_up_by_hand_drops_no_namespace_that_is_to_stay(platform: Platform, by_hand: ByHand) -> None:
    assert by_hand.dropping_up.returncode != 0
    assert "tenant-handkeep-b would leave the stack" in told(by_hand.dropping_up)
    platform.await_active(KEEP)
    for namespace in (by_hand.kept_namespace, platform.namespace("tenant-handkeep-b")):
        assert namespace is not None
        assert "deletionTimestamp" not in namespace["metadata"]
    platform.apply({**KEEP, "spec": {"namespaces": [{"name": "a"}, {"name": "b"}], "adopt": True}})
    platform.await_active(KEEP)
