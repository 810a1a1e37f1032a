"""`tenancy pause` and `tenancy resume`."""

from pathlib import Path

from tests.cli.conftest import Run
from tests.cli.previews import previewer_kubeconfig
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


def test_pausing_twice_writes_once(
    platform: Platform, new_tenant: NewTenant, tenancy: Run, tmp_path: Path
) -> None:
    platform.await_condition(new_tenant("yawning", paused=True), "Paused")
    # Whoever may only read can tell that there is nothing to write.
    reader = str(previewer_kubeconfig(platform, tmp_path / "reader.kubeconfig"))
    told = tenancy("pause", "yawning", KUBECONFIG=reader)
    assert (told.returncode, told.stdout) == (0, "yawning is already paused.\n"), told.stderr
    assert "is forbidden" in tenancy("resume", "yawning", KUBECONFIG=reader).stderr

    assert tenancy("resume", "yawning").stdout == "yawning is resumed.\n"
    told = tenancy("resume", "yawning", KUBECONFIG=reader)
    assert (told.returncode, told.stdout) == (0, "yawning is not paused.\n"), told.stderr
    assert "is forbidden" in tenancy("pause", "yawning", KUBECONFIG=reader).stderr


def test_resumed_tenant_that_fails_is_told(platform: Platform, new_tenant: NewTenant, tenancy: Run) -> None:
    manifest = new_tenant("nightmare", paused=True)
    platform.await_condition(manifest, "Paused")
    platform.apply({**manifest, "spec": {"paused": True, "plan": "none-such"}})
    told = tenancy("resume", "nightmare")
    assert told.returncode == 1
    assert "resumed, but not Active: nightmare: UnknownPlan: spec.plan" in told.stderr


def test_one_unknown_name_leaves_the_others_alone(
    platform: Platform, new_tenant: NewTenant, tenancy: Run
) -> None:
    manifest = new_tenant("awake", plan="none-such")
    told = tenancy("pause", "awake", "nobody")
    assert told.returncode == 1
    assert "there is no tenant 'nobody'" in told.stderr
    tenant = platform.tenant(manifest)
    assert tenant is not None
    assert tenant["spec"]["paused"] is False
