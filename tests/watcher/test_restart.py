"""A watcher that was killed or stopped continues its work after a restart."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tenancy.base.kinds import kind_of
from tests.checkpoint import read_json, stack_file, write_json
from tests.holding import held_updates
from tests.platform import NewTenant, Platform, tenant_manifest
from tests.waiting import eventually

CRASH = tenant_manifest("crash", namespaces=[{"name": name} for name in "abc"])
DROPPED = tenant_manifest("dropped", namespaces=[{"name": name} for name in "abc"])
UNCHANGED = [tenant_manifest(f"still-{number}", plan="basic") for number in range(5)]


@dataclass(frozen=True)
class Killed:
    """The locks and the versions of the unchanged tenants, after a kill during two updates."""

    locks: dict[str, list[Path]]
    versions: dict[str, tuple[int, int]]


def locks(platform: Platform, tenant: str) -> list[Path]:
    folder = platform.stack_folder("locks") / "organization" / "tenancy" / f"tenant-{tenant}"
    return list(folder.glob("*.json"))


def versions(platform: Platform) -> dict[str, tuple[int, int]]:
    """The generation and the number of updates of each unchanged tenant."""
    tenants = {manifest["metadata"]["name"]: platform.tenant(manifest) or {} for manifest in UNCHANGED}
    return {
        name: (tenant["metadata"]["generation"], tenant["status"]["lastUpdate"]["version"])
        for name, tenant in tenants.items()
    }


@pytest.fixture(scope="module")
def killed(running_platform: Platform) -> Iterator[Killed]:
    """Kill the watcher during two updates, change the spec of one tenant, and start the watcher again."""
    platform = running_platform
    platform.ensure_started()
    for manifest in UNCHANGED:
        platform.apply(manifest)
    for manifest in UNCHANGED:
        platform.await_active(manifest)
    with held_updates(platform, "tenant-crash-c", "tenant-dropped-c"):
        for manifest in (CRASH, DROPPED):
            platform.apply(manifest)
        for manifest in (CRASH, DROPPED):
            name = manifest["metadata"]["name"]
            eventually(lambda name=name: platform.namespace(f"tenant-{name}-c"), f"{name} is partly created")  # type: ignore[misc]
        platform.kill()
    killed = Killed({name: locks(platform, name) for name in ("crash", "dropped")}, versions(platform))
    platform.apply({**DROPPED, "spec": {"namespaces": [{"name": "a"}]}})
    platform.start()
    yield killed
    platform.verify_and_abandon([CRASH, DROPPED, *UNCHANGED])


def test_kill_during_up_converges_after_restart(platform: Platform, killed: Killed) -> None:
    assert killed.locks["crash"], "the killed command has left its lock"
    platform.await_active(CRASH)
    assert len(platform.objects("crash")) == 3 * 19
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
    names = {manifest["metadata"]["name"] for manifest in UNCHANGED}

    def unchanged() -> set[str]:
        return {line["tenant"] for line in platform.log() if line["message"] == "tenant unchanged"}

    eventually(lambda: names <= unchanged(), "the watcher has reconciled each of them since its start")
    assert {name: platform.pulumi_run_count(tenant=name) for name in names} == dict.fromkeys(names, 0)
    assert versions(platform) == killed.versions

    platform.apply({**UNCHANGED[0], "spec": {"plan": "pro"}})
    platform.await_active(UNCHANGED[0])
    assert {name: platform.pulumi_run_count(tenant=name) for name in names} == dict.fromkeys(names, 0) | {
        "still-0": 1
    }


def test_pending_operation_is_cleared(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("pending", plan="basic")
    platform.await_active(manifest)
    # Create the state after a killed `pulumi up`: one object was created, but the state does not contain it.
    state = stack_file(platform.folder / "state", "pending")
    content = read_json(state)
    latest = content["checkpoint"]["latest"]
    urn = ":RoleBinding::tenant-pending/tenant-admin"
    lost_resource = next(resource for resource in latest["resources"] if resource["urn"].endswith(urn))
    latest["resources"].remove(lost_resource)
    recorded = {field: lost_resource[field] for field in lost_resource if field not in ("id", "outputs")}
    latest["pending_operations"] = [{"resource": recorded, "type": "creating"}]
    write_json(state, content)

    platform.apply({**manifest, "spec": {"plan": "pro"}})
    platform.await_active(manifest)
    assert "pending_operations" not in read_json(state)["checkpoint"]["latest"]


def test_lock_of_a_live_process_is_respected_and_named(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("locked", plan="basic")
    platform.await_active(manifest)
    folder = platform.stack_folder("locks") / "organization" / "tenancy" / "tenant-locked"
    folder.mkdir(parents=True, exist_ok=True)
    lock = folder / "another.json"
    holder = {"pid": 1, "username": "jane", "hostname": "far-away", "timestamp": "2030-01-02T03:04:05Z"}
    lock.write_text(json.dumps(holder))
    platform.apply({**manifest, "spec": {"plan": "pro"}})
    ready = platform.await_condition(manifest, "UpdateConflict")
    assert "jane@far-away (pid 1)" in ready["message"]
    assert "pulumi cancel --stack tenant-locked" in ready["message"]
    assert lock.exists()
    lock.unlink()
    platform.await_active(manifest)


def test_status_write_runs_no_update(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("left-alone", plan="basic")
    assert platform.await_active(manifest)["status"]["lastUpdate"]["version"] == 1
    change = {"status": {"namespaceCount": 7}}
    platform.admin.patch(kind_of(manifest), "left-alone", change, subresource="status")
    platform.admin.patch(kind_of(manifest), "left-alone", {"metadata": {"labels": {"team": "x"}}})
    # The queue keeps the order. Work for the writes above starts before the watcher reconciles this new
    # tenant.
    platform.await_active(new_tenant("after-left-alone", plan="basic"))
    platform.apply({**manifest, "spec": {"plan": "pro"}})
    assert platform.await_active(manifest)["status"]["lastUpdate"]["version"] == 2
