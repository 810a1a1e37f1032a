"""`tenancy rollback` restores the spec of an earlier update."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from cli.rollback.restored_spec import restored_spec
from cluster.errors import ClusterError
from tenancy.base.kinds import kind_of
from tenancy.base.manifest import Manifest
from tests.cli.conftest import Run
from tests.cli.generations import Spec, grown_tenants, live
from tests.platform import NewTenant, Platform, tenant_manifest
from tests.shared import await_settled
from tests.terminal import run_on_terminal
from tests.waiting import eventually

# The specs that each tenant has before its test, in this order.
SPECS: dict[str, list[Spec]] = {
    "removing": [{"plan": "basic"}, {"plan": "basic", "adminUsers": ["eve"]}],
    "gitted": [
        {"plan": "basic", "username": "u"},
        {"plan": "pro", "username": "u", "displayName": "New"},
    ],
    "previewed": [{"plan": "basic"}, {"plan": "pro"}],
    "rescued": [{"plan": "basic"}, {"plan": "none-such"}],
    "asleep": [{"plan": "basic", "cordoned": True}, {"plan": "pro"}, {"plan": "pro", "paused": True}],
}


@pytest.fixture(scope="module", autouse=True)
def _tenants(running_platform: Platform) -> Iterator[None]:
    with grown_tenants(running_platform, SPECS):
        yield


def content(platform: Platform, tenant: str) -> dict[tuple[str, str, str], Manifest]:
    """The objects of a tenant, without their status and without server-set metadata."""
    fields = ("spec", "rules", "subjects", "roleRef", "data")
    return {
        key: {
            "labels": manifest["metadata"].get("labels"),
            **{field: manifest[field] for field in fields if field in manifest},
        }
        for key, manifest in platform.objects(tenant).items()
    }


def updates(tenancy: Run, tenant: str) -> list[dict[str, Any]]:
    history: list[dict[str, Any]] = json.loads(tenancy("history", tenant, "-o", "json").stdout)
    return history


def apply_as_git(platform: Platform, manifest: Manifest) -> Manifest:
    """Apply the manifest without force, by server-side apply with the field manager `tenancy`."""
    path = kind_of(manifest).path(name=manifest["metadata"]["name"])
    query = {"fieldManager": "tenancy"}
    form = "application/apply-patch+yaml"
    return platform.admin._transport.request("PATCH", path, query, manifest, form)


def test_rollback_to_the_first_of_three_and_back_again(
    platform: Platform, new_tenant: NewTenant, tenancy: Run
) -> None:
    first = {"plan": "basic", "displayName": "One", "namespaces": [{"name": "a"}]}
    second = {"plan": "pro", "namespaces": [{"name": "a"}, {"name": "b"}]}
    third = {**second, "adminUsers": ["eve"]}
    manifest = new_tenant("undone", **first)
    platform.await_active(manifest)
    as_first, spec = content(platform, "undone"), live(platform, manifest)["spec"]
    for later in (second, third):
        await_settled(platform, platform.apply({**manifest, "spec": later}))

    result = tenancy("rollback", "undone", "--to", "1", "--yes")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("undone: back to update 1, ")
    assert ", spec generation 1, by unknown, via manager tenancy-cli\n" in result.stdout
    assert "~ Tenant undone\n    spec.plan\n      - pro\n      + basic\n" in result.stdout
    assert "- Namespace tenant-undone-b\n" in result.stdout
    assert "spec.paused" not in result.stdout
    assert result.stdout.endswith("undone has the spec of update 1 again; update 4 has applied it.\n")
    assert live(platform, manifest)["spec"] == spec
    eventually(lambda: content(platform, "undone") == as_first, "all objects are as they were at first")
    newest, *_ = updates(tenancy, "undone")
    assert (newest["version"], newest["by"]) == (4, "admin")
    assert newest["spec"] == spec

    # By default, the command uses the newest update with another spec. This is the update that the first
    # rollback reverted.
    result = tenancy("rollback", "undone", "--yes")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("undone: back to update 3, ")
    assert live(platform, manifest)["spec"]["adminUsers"] == ["eve"]
    assert ("Namespace", "", "tenant-undone-b") in content(platform, "undone")


def test_rollback_that_only_removes_is_by_the_user_too(platform: Platform, tenancy: Run) -> None:
    result = tenancy("rollback", "removing", "--yes")
    assert result.returncode == 0, result.stderr
    assert "adminUsers" not in live(platform, tenant_manifest("removing"))["spec"]
    assert updates(tenancy, "removing")[0]["by"] == "admin"


def test_git_that_was_not_changed_meets_a_conflict_and_the_printed_manifest_none(
    platform: Platform, tenancy: Run
) -> None:
    old_spec, new_spec = SPECS["gitted"]
    manifest = tenant_manifest("gitted", **old_spec)
    before = live(platform, manifest)
    printed = tenancy("rollback", "gitted", "-o", "yaml")
    assert printed.returncode == 0
    assert "nothing was changed; commit this manifest to restore the spec of update 1" in printed.stderr
    assert yaml.safe_load(printed.stdout) == manifest
    assert live(platform, manifest)["metadata"]["generation"] == before["metadata"]["generation"]

    assert tenancy("rollback", "gitted", "--yes").returncode == 0
    with pytest.raises(ClusterError, match=r'conflict with "tenancy-rollback".*: \.spec\.plan'):
        apply_as_git(platform, {**manifest, "spec": new_spec})
    applied = apply_as_git(platform, manifest)
    assert applied["spec"] == live(platform, manifest)["spec"]
    assert applied["metadata"]["generation"] == 3


def test_preview_changes_nothing(platform: Platform, tenancy: Run) -> None:
    manifest = tenant_manifest("previewed")
    before = live(platform, manifest)["metadata"]["generation"]
    result = tenancy("rollback", "previewed", "--dry-run")
    assert result.returncode == 2, result.stderr
    assert "~ Tenant previewed\n    spec.plan\n      - pro\n      + basic\n" in result.stdout
    assert "~ ResourceQuota tenant-previewed/tenant-quota\n" in result.stdout
    # Without a terminal, the command cannot ask for confirmation.
    result = tenancy("rollback", "previewed", input="y\n")
    assert result.returncode == 1
    assert result.stderr == "error: nothing was changed: without a terminal, the rollback needs --yes\n"
    assert run_on_terminal(platform, "n\n", "rollback", "previewed").returncode == 1
    assert live(platform, manifest)["metadata"]["generation"] == before
    result = run_on_terminal(platform, "y\n", "rollback", "previewed")
    assert result.returncode == 0, result.stderr
    assert live(platform, manifest)["spec"]["plan"] == "basic"


def test_failed_spec_is_rolled_back_to_the_last_good_one(platform: Platform, tenancy: Run) -> None:
    manifest = tenant_manifest("rescued")
    platform.await_condition(manifest, "UnknownPlan")
    result = tenancy("rollback", "rescued", "--yes")
    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith("rescued has the spec of update 1 again; no update was necessary.\n")
    assert live(platform, manifest)["status"]["phase"] == "Active"


def test_switches_keep_their_current_values() -> None:
    tenant = {"spec": {"plan": "pro", "paused": False, "cordoned": True}}
    assert restored_spec(tenant, {"plan": "basic", "paused": True}) == {**tenant["spec"], "plan": "basic"}
    assert restored_spec({"spec": {}}, {"plan": "basic", "cordoned": True}) == {"plan": "basic"}


def test_paused_tenant_stays_paused_and_is_not_cordoned_again(platform: Platform, tenancy: Run) -> None:
    manifest = tenant_manifest("asleep")
    result = tenancy("rollback", "asleep", "--yes")
    assert result.returncode == 0, result.stderr
    assert "run `tenancy resume asleep` to apply it" in result.stdout
    tenant = live(platform, manifest)
    assert (tenant["spec"]["plan"], tenant["spec"]["paused"]) == ("basic", True)
    assert tenant["spec"].get("cordoned", False) is False
    platform.delete(manifest)
    result = tenancy("rollback", "asleep", "--yes")
    assert (result.returncode, result.stderr) == (
        1,
        "error: asleep is being deleted: there is nothing to roll back\n",
    )
    # The list does not report NotApplied for a Tenant that is being deleted.
    (row,) = json.loads(tenancy("list", "asleep", "-o", "json").stdout)
    assert row["isPaused"]
    assert "NotApplied" not in tenancy("list", "asleep").stdout
    assert tenancy("resume", "asleep").stdout == "asleep is resumed, and is being deleted.\n"
