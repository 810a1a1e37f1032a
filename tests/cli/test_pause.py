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
    result = tenancy("pause", "dozing", "napping")
    assert (result.returncode, result.stdout) == (0, "dozing is paused.\nnapping is paused.\n"), result.stderr
    platform.await_condition(one, "Paused")
    (line,) = [line for line in tenancy("list").stdout.splitlines() if line.startswith("dozing ")]
    assert line.split()[1::6] == ["Active", "Paused"]
    platform.remove("Role", "tenant-dozing", "tenant-viewer")
    platform.await_condition(one, "Paused", "Drifted")
    assert platform.get("Role", "tenant-dozing", "tenant-viewer") is None

    result = tenancy("resume", "dozing", "napping")
    assert (result.returncode, result.stdout) == (0, "dozing is resumed.\nnapping is resumed.\n"), (
        result.stderr
    )
    assert platform.get("Role", "tenant-dozing", "tenant-viewer") is not None


def test_pausing_twice_writes_once(
    platform: Platform, new_tenant: NewTenant, tenancy: Run, tmp_path: Path
) -> None:
    platform.await_condition(new_tenant("yawning", paused=True), "Paused")
    # This succeeds with read-only rights, because the command does not need to write.
    reader = str(previewer_kubeconfig(platform, tmp_path / "reader.kubeconfig"))
    result = tenancy("pause", "yawning", KUBECONFIG=reader)
    assert (result.returncode, result.stdout) == (0, "yawning is already paused.\n"), result.stderr
    assert "is forbidden" in tenancy("resume", "yawning", KUBECONFIG=reader).stderr

    assert tenancy("resume", "yawning").stdout == "yawning is resumed.\n"
    result = tenancy("resume", "yawning", KUBECONFIG=reader)
    assert (result.returncode, result.stdout) == (0, "yawning is not paused.\n"), result.stderr
    assert "is forbidden" in tenancy("pause", "yawning", KUBECONFIG=reader).stderr


def test_resumed_tenant_that_fails_is_told(platform: Platform, new_tenant: NewTenant, tenancy: Run) -> None:
    manifest = new_tenant("nightmare", paused=True)
    platform.await_condition(manifest, "Paused")
    platform.apply({**manifest, "spec": {"paused": True, "plan": "none-such"}})
    result = tenancy("resume", "nightmare")
    assert result.returncode == 1
    assert "resumed, but not Active: nightmare: UnknownPlan: spec.plan" in result.stderr


def test_one_unknown_name_leaves_the_others_alone(
    platform: Platform, new_tenant: NewTenant, tenancy: Run
) -> None:
    manifest = new_tenant("awake", plan="none-such")
    result = tenancy("pause", "awake", "nobody")
    assert result.returncode == 1
    assert "there is no tenant 'nobody'" in result.stderr
    tenant = platform.tenant(manifest)
    assert tenant is not None
    assert tenant["spec"]["paused"] is False
