"""If a tenant is paused or rejected, its newest spec is not applied.

Commands report this separately from drift.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenancy.base.manifest import Manifest
from tests.cli.applying import write
from tests.cli.conftest import Run
from tests.platform import Platform, condition, tenant_manifest
from tests.shared import shared_tenants
from tests.waiting import eventually

PAUSED = tenant_manifest("heldpause", plan="basic")
REJECTED = tenant_manifest("heldback", plan="basic", namespaces=[{"name": "a"}])
# The watcher rejects this spec, because the namespace tenant-heldback-taken exists and belongs to no tenant.
NOT_ACCEPTED = {"plan": "pro", "namespaces": [{"name": "a"}, {"name": "taken"}]}
QUOTAS = {"heldpause": "tenant-heldpause", "heldback": "tenant-heldback-a"}
NOT_APPLIED, DRIFTED = 3, 2


@pytest.fixture(scope="module", autouse=True)
def _tenants(running_platform: Platform) -> Iterator[None]:
    with shared_tenants(running_platform, PAUSED, REJECTED):
        metadata = {"name": "tenant-heldback-taken"}
        running_platform.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        yield
        for manifest in (PAUSED, REJECTED):
            running_platform.apply(manifest)
            running_platform.await_active(manifest)
        running_platform.remove("Namespace", "", "tenant-heldback-taken")


def edit_quota(platform: Platform, name: str, cpu: str) -> None:
    platform.patch("ResourceQuota", QUOTAS[name], "tenant-quota", {"spec": {"hard": {"cpu": cpu}}})


def pause(platform: Platform, *, plan: str, is_edited: bool) -> Manifest:
    """Pause the tenant with this plan, and edit or restore a quota.

    Returns the Tenant after its status shows the result.
    """
    spec = {"plan": plan, "paused": True}
    generation = platform.apply({**PAUSED, "spec": spec})["metadata"]["generation"]
    eventually(lambda: condition_of(platform, PAUSED, "Ready", generation)[1] == "Paused", "it is paused")
    edit_quota(platform, "heldpause", "77" if is_edited else "500m")
    expected = ("True", "Paused") if is_edited else ("False", "NoDrift")
    eventually(
        lambda: condition_of(platform, PAUSED, "Drifted", generation) == expected,
        lambda: f"Drifted is {expected}; is {platform.tenant(PAUSED)}",
    )
    return platform.tenant(PAUSED) or {}


def reject(platform: Platform) -> None:
    generation = platform.apply({**REJECTED, "spec": NOT_ACCEPTED})["metadata"]["generation"]
    expected = ("False", "NamespaceTaken")
    eventually(
        lambda: condition_of(platform, REJECTED, "SpecApplied", generation) == expected, "it is rejected"
    )


def condition_of(platform: Platform, manifest: Manifest, kind: str, generation: int) -> tuple[str, str]:
    entry = condition(platform.tenant(manifest) or {}, kind)
    return (entry["status"], entry["reason"]) if entry["observedGeneration"] == generation else ("", "")


def cpu_changes(changes: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """The CPU limit before and after each change of the quota."""
    return [
        (field["before"], field["after"])
        for change in changes
        if change["name"] == "tenant-quota"
        for field in change["fields"]
        if field["path"] == "spec.hard.cpu"
    ]


def diff(tenancy: Run, name: str, code: int) -> dict[str, Any]:
    result = tenancy("diff", name, "-o", "json")
    assert result.returncode == code, result.stdout + result.stderr
    data: dict[str, Any] = json.loads(result.stdout)
    return data


def reasons(tenancy: Run, name: str) -> str:
    """The column REASON of `tenancy list` for this tenant."""
    (line,) = [line for line in tenancy("list").stdout.splitlines() if line.startswith(f"{name} ")]
    return line.split(maxsplit=7)[7].strip()


def test_new_spec_of_a_paused_tenant_is_not_drift(platform: Platform, tenancy: Run, tmp_path: Path) -> None:
    applied = condition(pause(platform, plan="pro", is_edited=False), "SpecApplied")
    assert (applied["status"], applied["reason"]) == ("False", "Paused")
    data = diff(tenancy, "heldpause", NOT_APPLIED)
    assert (data["isApplied"], data["reason"], data["drift"]) == (False, "Paused", [])
    assert cpu_changes(data["pendingChanges"]) == [("500m", "4")]
    text = tenancy("diff", "heldpause").stdout
    assert "Manual changes (drift)\nnone" in text
    assert "To apply the spec, run: tenancy resume heldpause" in text
    assert reasons(tenancy, "heldpause") == "Paused, NotApplied"
    shown = tenancy("show", "heldpause").stdout
    assert "paused, spec not applied\n" in shown
    assert text in shown
    # The manifest equals the stored spec, but the watcher has still not applied this spec.
    path = write(tmp_path / "x.yaml", {**PAUSED, "spec": {"plan": "pro", "paused": True}})
    result = tenancy("apply", path)
    assert result.returncode == NOT_APPLIED, result.stderr
    assert "unchanged, not applied (paused)" in result.stdout
    assert "run `tenancy resume heldpause`" in result.stderr


def test_manual_change_of_a_paused_tenant_is_drift(platform: Platform, tenancy: Run, tmp_path: Path) -> None:
    tenant = pause(platform, plan="basic", is_edited=True)
    assert condition(tenant, "SpecApplied")["status"] == "True"
    data = diff(tenancy, "heldpause", DRIFTED)
    assert (data["isApplied"], data["reason"], data["pendingChanges"]) == (True, "", [])
    assert cpu_changes(data["drift"]) == [("77", "500m")]
    assert "Changes that are not applied yet\nnone" in tenancy("diff", "heldpause").stdout
    assert reasons(tenancy, "heldpause") == "Paused, Drifted"
    path = write(tmp_path / "x.yaml", {**PAUSED, "spec": {"plan": "basic", "paused": True}})
    assert tenancy("apply", path).returncode == 0


def test_new_spec_and_manual_change_of_a_paused_tenant_are_separate(platform: Platform, tenancy: Run) -> None:
    """After a restart, the watcher reads the applied objects from the stack, and still separates the two."""
    pause(platform, plan="pro", is_edited=True)
    data = diff(tenancy, "heldpause", DRIFTED)
    assert cpu_changes(data["drift"]) == [("77", "500m")]
    assert cpu_changes(data["pendingChanges"]) == [("500m", "4")]
    assert reasons(tenancy, "heldpause") == "Paused, NotApplied, Drifted"
    view = json.loads(tenancy("show", "heldpause", "-o", "json").stdout)
    assert (view["drift"], view["pendingChanges"]) == (data["drift"], data["pendingChanges"])
    assert (view["row"]["isApplied"], view["row"]["isDrifted"]) == (False, True)
    platform.stop()
    edit_quota(platform, "heldpause", "500m")
    platform.start()
    platform.await_condition(PAUSED, "NoDrift", "Drifted")


def test_differences_without_a_backend_are_unknown(platform: Platform, tenancy: Run) -> None:
    pause(platform, plan="pro", is_edited=False)
    result = tenancy("diff", "heldpause", PULUMI_BACKEND_URL="")
    assert result.returncode == NOT_APPLIED, result.stderr
    assert "Manual changes (drift)\nunknown: no state backend: set PULUMI_BACKEND_URL" in result.stdout


def test_rejected_spec_is_not_drift(platform: Platform, tenancy: Run) -> None:
    reject(platform)
    assert condition(platform.tenant(REJECTED) or {}, "Drifted")["status"] == "False"
    data = diff(tenancy, "heldback", NOT_APPLIED)
    assert (data["reason"], data["drift"]) == ("NamespaceTaken", [])
    assert cpu_changes(data["pendingChanges"]) == [("500m", "4")]
    assert "correct it, and run: tenancy apply" in tenancy("diff", "heldback").stdout
    assert reasons(tenancy, "heldback") == "NamespaceTaken, NotApplied"


def test_manual_change_of_a_rejected_tenant_is_drift(platform: Platform, tenancy: Run) -> None:
    """While the watcher is stopped, the drift stays.

    After the start, the watcher repairs the drift, but does not apply the spec.
    """
    reject(platform)
    platform.stop()
    edit_quota(platform, "heldback", "77")
    data = diff(tenancy, "heldback", DRIFTED)
    assert cpu_changes(data["drift"]) == [("77", "500m")]
    assert cpu_changes(data["pendingChanges"]) == [("500m", "4")]
    platform.start()
    platform.await_condition(REJECTED, "Repaired", "Drifted")
    tenant = platform.tenant(REJECTED) or {}
    assert condition(tenant, "SpecApplied")["reason"] == "NamespaceTaken"
    assert diff(tenancy, "heldback", NOT_APPLIED)["drift"] == []
