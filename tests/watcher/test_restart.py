"""A watcher that is killed, stopped or cut off takes up its work with nobody's help."""

import json
from pathlib import Path

from tenancy.kinds import kind_of
from tests.platform import NewTenant, Platform
from tests.waiting import eventually

TENANTS = 20


def locks(platform: Platform, tenant: str) -> list[Path]:
    folder = platform.folder / "state" / ".pulumi" / "locks" / "organization" / "tenancy" / f"tenant-{tenant}"
    return list(folder.glob("*.json"))


def test_kill_during_up_converges_after_restart(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("crash", namespaces=[{"name": name} for name in "abc"])
    eventually(lambda: locks(platform, "crash") and platform.objects("crash"), "an up is under way")
    platform.kill()
    assert locks(platform, "crash"), "the killed command has left its lock"

    platform.start()
    platform.await_active(manifest)
    assert len(platform.objects("crash")) == 3 * 18
    assert not locks(platform, "crash")
    assert "no changes" in _preview(platform, "crash")


def test_namespace_dropped_between_a_lost_create_and_its_retry_is_removed(
    platform: Platform, new_tenant: NewTenant
) -> None:
    manifest = new_tenant("dropped", namespaces=[{"name": name} for name in "abc"])
    eventually(lambda: platform.namespace("tenant-dropped-c"), "the namespace is made")
    platform.kill()
    platform.apply({**manifest, "spec": {"namespaces": [{"name": "a"}]}})
    platform.start()
    platform.await_active(manifest)
    for name in ("tenant-dropped-b", "tenant-dropped-c"):
        eventually(lambda name=name: platform.namespace(name) is None, f"{name} is gone")  # type: ignore[misc]


def test_pending_operation_is_cleared(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("pending", plan="basic")
    platform.await_active(manifest)
    platform.stop()
    # As an operator's killed `pulumi up` leaves it: one object made but not recorded.
    state = platform.folder / "state" / ".pulumi" / "stacks" / "tenancy" / "tenant-pending.json"
    content = json.loads(state.read_text())
    latest = content["checkpoint"]["latest"]
    urn = ":RoleBinding::tenant-pending/tenant-admin"
    lost = next(found for found in latest["resources"] if found["urn"].endswith(urn))
    latest["resources"].remove(lost)
    recorded = {field: lost[field] for field in lost if field not in ("id", "outputs")}
    latest["pending_operations"] = [{"resource": recorded, "type": "creating"}]
    state.write_text(json.dumps(content))

    platform.start()
    platform.apply({**manifest, "spec": {"plan": "pro"}})
    platform.await_active(manifest)
    eventually(
        lambda: "pending_operations" not in json.loads(state.read_text())["checkpoint"]["latest"],
        "nothing is pending",
    )
    assert "no changes" in _preview(platform, "pending")


def test_lock_of_a_live_process_is_respected_and_named(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("locked", plan="basic")
    platform.await_active(manifest)
    folder = platform.folder / "state" / ".pulumi" / "locks" / "organization" / "tenancy" / "tenant-locked"
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


def test_restart_with_unchanged_tenants_runs_pulumi_zero_times(
    platform: Platform, new_tenant: NewTenant
) -> None:
    manifests = [new_tenant(f"still-{number}", plan="basic") for number in range(TENANTS)]
    for manifest in manifests:
        platform.await_active(manifest)
    versions = {manifest["metadata"]["name"]: _version(platform, manifest) for manifest in manifests}
    platform.stop()
    platform.start()
    # A change to one shows that the watcher works, and has looked at the others before.
    platform.apply({**manifests[0], "spec": {"plan": "pro"}})
    platform.await_active(manifests[0])
    assert platform.runs("up") == 1
    assert {manifest["metadata"]["name"]: _version(platform, manifest) for manifest in manifests[1:]} == {
        name: version for name, version in versions.items() if name != "still-0"
    }


def test_status_write_runs_nothing(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("quiet", plan="basic")
    platform.await_active(manifest)
    before = platform.runs("up")
    platform.admin.patch(kind_of(manifest), "quiet", {"status": {"namespaceCount": 7}}, subresource="status")
    platform.admin.patch(kind_of(manifest), "quiet", {"metadata": {"labels": {"team": "x"}}})
    other = new_tenant("after-quiet", plan="basic")
    platform.await_active(other)
    assert platform.runs("up") == before + 1


def _version(platform: Platform, manifest: dict[str, object]) -> tuple[int, int]:
    tenant = platform.tenant(manifest)
    assert tenant is not None
    return tenant["metadata"]["generation"], tenant["status"]["lastUpdate"]["version"]


def _preview(platform: Platform, tenant: str) -> str:
    told = platform.pulumi(f"tenant-{tenant}", "preview", "--expect-no-changes")
    return "no changes" if told.returncode == 0 else told.stdout + told.stderr
