"""A watcher that is killed, stopped or cut off takes up its work with nobody's help."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tenancy.base.kinds import kind_of
from tests.holding import held_updates
from tests.platform import NewTenant, Platform, tenant_manifest
from tests.waiting import eventually

CRASH = tenant_manifest("crash", namespaces=[{"name": name} for name in "abc"])
DROPPED = tenant_manifest("dropped", namespaces=[{"name": name} for name in "abc"])
STILL = [tenant_manifest(f"still-{number}", plan="basic") for number in range(5)]


@dataclass(frozen=True)
class Killed:
    """What a watcher that was killed in the middle of two updates has left."""

    locks: dict[str, list[Path]]
    versions: dict[str, tuple[int, int]]


def stack_folder(platform: Platform, kind: str) -> Path:
    return platform.folder / "state" / ".pulumi" / kind


def locks(platform: Platform, tenant: str) -> list[Path]:
    folder = stack_folder(platform, "locks") / "organization" / "tenancy" / f"tenant-{tenant}"
    return list(folder.glob("*.json"))


def versions(platform: Platform) -> dict[str, tuple[int, int]]:
    """Generation and number of updates of the tenants that nobody changes."""
    found = {manifest["metadata"]["name"]: platform.tenant(manifest) or {} for manifest in STILL}
    return {
        name: (tenant["metadata"]["generation"], tenant["status"]["lastUpdate"]["version"])
        for name, tenant in found.items()
    }


@pytest.fixture(scope="module")
def killed(running_platform: Platform) -> Iterator[Killed]:
    """The watcher is killed in the middle of two updates, with others done, and started again."""
    platform = running_platform
    platform.ensure_started()
    for manifest in STILL:
        platform.apply(manifest)
    for manifest in STILL:
        platform.await_active(manifest)
    with held_updates(platform, "tenant-crash-c", "tenant-dropped-c"):
        for manifest in (CRASH, DROPPED):
            platform.apply(manifest)
        for manifest in (CRASH, DROPPED):
            name = manifest["metadata"]["name"]
            eventually(lambda name=name: platform.namespace(f"tenant-{name}-c"), f"{name} is half made")  # type: ignore[misc]
        platform.kill()
    left = Killed({name: locks(platform, name) for name in ("crash", "dropped")}, versions(platform))
    platform.apply({**DROPPED, "spec": {"namespaces": [{"name": "a"}]}})
    platform.start()
    yield left
    platform.verify_and_delete([CRASH, DROPPED, *STILL])


def test_kill_during_up_converges_after_restart(platform: Platform, killed: Killed) -> None:
    assert killed.locks["crash"], "the killed command has left its lock"
    platform.await_active(CRASH)
    assert len(platform.objects("crash")) == 3 * 18
    assert not locks(platform, "crash")
    platform.expect_no_changes("crash")


def test_namespace_dropped_between_a_lost_create_and_its_retry_is_removed(
    platform: Platform, killed: Killed
) -> None:
    assert killed.locks["dropped"], "the create was lost"
    platform.await_active(DROPPED)
    for name in ("tenant-dropped-b", "tenant-dropped-c"):
        eventually(lambda name=name: platform.namespace(name) is None, f"{name} is gone")  # type: ignore[misc]
    assert {namespace or name for _, namespace, name in platform.objects("dropped")} == {"tenant-dropped-a"}


def test_restart_with_unchanged_tenants_runs_pulumi_zero_times(platform: Platform, killed: Killed) -> None:
    names = {manifest["metadata"]["name"] for manifest in STILL}

    def unchanged() -> set[str]:
        return {line["tenant"] for line in platform.log() if line["message"] == "tenant unchanged"}

    eventually(lambda: names <= unchanged(), "the watcher has looked at each of them since its start")
    assert {name: platform.pulumi_run_count(tenant=name) for name in names} == dict.fromkeys(names, 0)
    assert versions(platform) == killed.versions

    platform.apply({**STILL[0], "spec": {"plan": "pro"}})
    platform.await_active(STILL[0])
    assert {name: platform.pulumi_run_count(tenant=name) for name in names} == dict.fromkeys(names, 0) | {
        "still-0": 1
    }


def test_pending_operation_is_cleared(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("pending", plan="basic")
    platform.await_active(manifest)
    # As an operator's killed `pulumi up` leaves it: one object made but not recorded.
    state = stack_folder(platform, "stacks") / "tenancy" / "tenant-pending.json"
    content = json.loads(state.read_text())
    latest = content["checkpoint"]["latest"]
    urn = ":RoleBinding::tenant-pending/tenant-admin"
    lost = next(found for found in latest["resources"] if found["urn"].endswith(urn))
    latest["resources"].remove(lost)
    recorded = {field: lost[field] for field in lost if field not in ("id", "outputs")}
    latest["pending_operations"] = [{"resource": recorded, "type": "creating"}]
    state.write_text(json.dumps(content))

    platform.apply({**manifest, "spec": {"plan": "pro"}})
    platform.await_active(manifest)
    assert "pending_operations" not in json.loads(state.read_text())["checkpoint"]["latest"]


def test_lock_of_a_live_process_is_respected_and_named(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("locked", plan="basic")
    platform.await_active(manifest)
    folder = stack_folder(platform, "locks") / "organization" / "tenancy" / "tenant-locked"
    folder.mkdir(parents=True, exist_ok=True)
    lock = folder / "another.json"
    holder = {"pid": 1, "username": "jane", "hostname": "far-away", "timestamp": "2030-01-02T03:04:05Z"}
    lock.write_text(json.dumps(holder))
    platform.apply({**manifest, "spec": {"plan": "pro"}})
    told = platform.await_condition(manifest, "UpdateConflict")
    assert "jane@far-away (pid 1)" in told["message"]
    assert "pulumi cancel --stack tenant-locked" in told["message"]
    assert lock.exists()
    lock.unlink()
    platform.await_active(manifest)


def test_status_write_runs_nothing(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("left-alone", plan="basic")
    assert platform.await_active(manifest)["status"]["lastUpdate"]["version"] == 1
    change = {"status": {"namespaceCount": 7}}
    platform.admin.patch(kind_of(manifest), "left-alone", change, subresource="status")
    platform.admin.patch(kind_of(manifest), "left-alone", {"metadata": {"labels": {"team": "x"}}})
    # The queue is served in order: whatever these writes ask for begins before this tenant's turn.
    platform.await_active(new_tenant("after-left-alone", plan="basic"))
    platform.apply({**manifest, "spec": {"plan": "pro"}})
    assert platform.await_active(manifest)["status"]["lastUpdate"]["version"] == 2
