"""If a rollback is not possible, `tenancy rollback` changes nothing and prints the reason."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tenancy.plans import SHIPPED_PLANS
from tests.cli.conftest import Run
from tests.cli.generations import Spec, grown_tenants, live
from tests.platform import Platform, tenant_manifest
from tests.waiting import eventually

SPECS: dict[str, list[Spec]] = {
    "refused": [{"plan": "basic"}],
    "outdated": [
        {"plan": "pro", "namespaces": [{"name": "a"}, {"name": "b"}]},
        {"plan": "basic", "namespaces": [{"name": "a"}]},
    ],
}


@pytest.fixture(scope="module", autouse=True)
def _tenants(running_platform: Platform) -> Iterator[None]:
    with grown_tenants(running_platform, SPECS):
        yield


def test_what_cannot_be_rolled_back_changes_nothing(platform: Platform, tenancy: Run) -> None:
    manifest = tenant_manifest("refused")

    def problem(*arguments: str) -> str:
        result = tenancy("rollback", "refused", "--yes", *arguments)
        assert (result.returncode, result.stdout) == (1, "")
        return result.stderr.removeprefix("error: ").rstrip("\n")

    assert problem() == "cannot roll back refused: all successful updates have the same spec as the Tenant"
    platform.remove("Role", "tenant-refused", "tenant-viewer")
    platform.await_condition(manifest, "Repaired", "Drifted")
    by_hand = platform.pulumi("tenant-refused", "up", "--yes", "--skip-preview", "--message", "a try")
    assert by_hand.returncode == 0, by_hand.stdout
    generation = live(platform, manifest)["metadata"]["generation"]
    assert problem("--to", "1") == (
        "refused already has the spec of update 1; a rollback can't undo updates without a new spec: "
        "3 (a try), 2 (drift: Role tenant-refused/tenant-viewer deleted)"
    )
    assert problem("--to", "3").startswith("update 3 was made by hand, so its spec is not recorded")
    assert problem("--to", "9").startswith("refused has no update 9; choose an update (1 to 3)")
    assert live(platform, manifest)["metadata"]["generation"] == generation


def test_spec_that_can_no_longer_be_built_is_not_restored(
    platform: Platform, tenancy: Run, tmp_path: Path
) -> None:
    manifest = tenant_manifest("outdated")
    eventually(lambda: platform.namespace("tenant-outdated-b") is None, "the namespace is gone")
    generation = live(platform, manifest)["metadata"]["generation"]
    plans = yaml.safe_load(SHIPPED_PLANS.read_text())
    del plans["plans"]["pro"]
    path = tmp_path / "plans.yaml"
    path.write_text(yaml.safe_dump(plans))
    result = tenancy("rollback", "outdated", "--yes", "--plans", str(path))
    assert result.returncode == 1
    assert "the spec of update 1 can't be restored: spec.plan: there is no plan 'pro'" in result.stderr

    # Create a namespace with the name of the tenant's former namespace. It does not belong to the tenant.
    taken = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tenant-outdated-b"}}
    platform.apply(taken)
    try:
        result = tenancy("rollback", "outdated", "--yes")
    finally:
        platform.delete(taken)
    assert result.returncode == 1
    assert "spec.namespaces[1].name: namespace 'tenant-outdated-b' exists already" in result.stderr
    assert live(platform, manifest)["metadata"]["generation"] == generation
