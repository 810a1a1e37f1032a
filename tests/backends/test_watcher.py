"""A watcher whose state is in a PostgreSQL database or in an S3 bucket."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded.toolchain.resolver import path_with
from tenancy.base.kinds import NETWORK_POLICY
from tests.commandline import run_tenancy
from tests.platform import Platform, tenant_manifest
from tests.state_backends import Scheme, StateServers
from tests.waiting import eventually
from tests.watcher.test_canaries import written_files

TENANT = tenant_manifest("elsewhere", plan="pro", namespaces=[{"name": "a"}])
GROWN = tenant_manifest("elsewhere", plan="pro", namespaces=[{"name": "a"}, {"name": "b"}])
FIRST, SECOND, POLICY = "tenant-elsewhere-a", "tenant-elsewhere-b", "default-deny-all"


def tenancy(platform: Platform, *arguments: str, code: int = 0) -> str:
    """Run `tenancy` with this platform's backend, as an administrator. Return its output in one line."""
    environment = {**platform.environment, "KUBECONFIG": str(platform.admin_kubeconfig)}
    result = run_tenancy(*arguments, environment=environment)
    assert result.returncode == code, result.stdout + result.stderr
    return " ".join((result.stdout + result.stderr).split())


@pytest.fixture(params=[Scheme.POSTGRES, pytest.param(Scheme.S3, marks=pytest.mark.long)])
def elsewhere(
    request: pytest.FixtureRequest,
    running_platform: Platform,
    servers: StateServers,
    tools: dict[str, Path],
    tmp_path: Path,
) -> Iterator[Platform]:
    """The shared platform with another watcher, whose backend is empty and is not a folder."""
    running_platform.stop()
    platform = Platform.not_installed(running_platform.admin_kubeconfig, path_with(tools), tmp_path)
    backend = servers.new(request.param, tmp_path)
    kubeconfig = running_platform.environment["KUBECONFIG"]
    platform.environment |= {"KUBECONFIG": kubeconfig, "PULUMI_BACKEND_URL": backend.url}
    platform.environment |= backend.environment
    tenancy(platform, "state", "claim")
    yield platform
    if platform.process is not None:
        platform.kill()
    tenancy(running_platform, "state", "claim", "--yes")


def test_tenant_is_created_restored_repaired_and_deleted(elsewhere: Platform, tmp_path: Path) -> None:
    platform, backup = elsewhere, f"file://{tmp_path / 'backup'}"
    (tmp_path / "backup").mkdir()
    platform.start()
    platform.apply(TENANT)
    platform.await_active(TENANT)
    assert "2 stacks are in the backup" in tenancy(platform, "state", "backup", "--to", backup)
    platform.apply(GROWN)
    platform.await_active(GROWN)
    restore = ("state", "restore", "--from", backup, "--overwrite")
    assert "stop it first" in tenancy(platform, *restore, code=1)
    platform.stop()

    # The restored state is older than the objects, and an object was deleted while no watcher was running.
    assert "2 stacks are in " in tenancy(platform, *restore)
    platform.admin.delete(NETWORK_POLICY, POLICY, FIRST)
    platform.start()
    eventually(lambda: platform.admin.get(NETWORK_POLICY, POLICY, FIRST), "the object is repaired")
    export = ("tenant-elsewhere", "stack", "export")
    eventually(lambda: SECOND in platform.pulumi(*export).stdout, "the state contains the newer namespace")
    platform.delete(GROWN)
    platform.await_gone(GROWN)
    assert not platform.namespace(FIRST)
    assert not platform.namespace(SECOND)
    assert "elsewhere" in tenancy(platform, "history", "--deleted")
    platform.stop()
    leaks = [file for file, text in written_files(platform) if "canary-of-the" in text]
    assert not leaks
