"""`tenancy pause` and `tenancy resume`."""

from tests.cli.conftest import Run
from tests.platform import NewTenant, Platform


def test_paused_tenant_keeps_its_drift_until_it_is_resumed(
    platform: Platform, new_tenant: NewTenant, tenancy: Run
) -> None:
    one, two = new_tenant("dozing"), new_tenant("napping")
    platform.await_active(one)
    platform.await_active(two)
    told = tenancy("pause", "dozing", "napping")
    assert (told.returncode, told.stdout) == (0, "dozing is paused.\nnapping is paused.\n"), told.stderr
    platform.await_condition(one, "Paused")
    (line,) = [line for line in tenancy("list").stdout.splitlines() if line.startswith("dozing ")]
    assert line.split()[1::6] == ["Active", "Paused"]
    platform.remove("Role", "tenant-dozing", "tenant-viewer")
    platform.await_condition(one, "Paused", "Drifted")
    assert platform.get("Role", "tenant-dozing", "tenant-viewer") is None

    told = tenancy("resume", "dozing", "napping")
    assert (told.returncode, told.stdout) == (0, "dozing is resumed.\nnapping is resumed.\n"), told.stderr
    assert platform.get("Role", "tenant-dozing", "tenant-viewer") is not None


def test_pausing_twice_writes_once(platform: Platform, new_tenant: NewTenant, tenancy: Run) -> None:
    manifest = new_tenant("yawning", paused=True)
    platform.await_condition(manifest, "Paused")
    before = platform.tenant(manifest)
    assert tenancy("pause", "yawning").stdout == "yawning is paused already.\n"
    assert platform.tenant(manifest) == before
    assert tenancy("resume", "yawning").stdout == "yawning is resumed.\n"
    assert tenancy("resume", "yawning").stdout == "yawning is not paused.\n"


def test_resumed_tenant_that_fails_is_told(platform: Platform, new_tenant: NewTenant, tenancy: Run) -> None:
    manifest = new_tenant("nightmare", paused=True)
    platform.await_condition(manifest, "Paused")
    platform.apply({**manifest, "spec": {"paused": True, "plan": "none-such"}})
    told = tenancy("resume", "nightmare")
    assert told.returncode == 1
    assert "the watcher works again, but nightmare: UnknownPlan: spec.plan" in told.stderr


def test_one_unknown_name_leaves_the_others_alone(
    platform: Platform, new_tenant: NewTenant, tenancy: Run
) -> None:
    manifest = new_tenant("awake")
    platform.await_active(manifest)
    told = tenancy("pause", "awake", "nobody")
    assert told.returncode == 1
    assert "there is no tenant 'nobody'" in told.stderr
    tenant = platform.tenant(manifest)
    assert tenant is not None
    assert tenant["spec"]["paused"] is False
