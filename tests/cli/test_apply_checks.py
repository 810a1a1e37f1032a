"""`tenancy apply` checks all Tenants before the first write.

It makes the same changes that `tenancy preview` shows.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from embedded.run.samples import apply_samples
from tenancy.base.manifest import Manifest
from tenancy.base.names import GROUPS
from tenancy.objects.roles import API_GROUP, API_VERSION
from tests.cli.applying import named_fixture, write  # noqa: F401 - a fixture
from tests.cli.conftest import Run
from tests.platform import Platform, tenant_manifest
from tests.waiting import eventually


@pytest.mark.parametrize("options", [(), ("--dry-run",)])
@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"plan": "none-such"}, "spec.plan: there is no plan 'none-such'"),
        ({"plan": "basic", "namespaces": [{"name": f"n{i}"} for i in range(6)]}, "allows 5"),
        ({"adopt": True, "namespaces": [{"name": "a", "existing": "default"}]}, "can't be adopted"),
    ],
)
def test_rejected_tenant_keeps_all_tenants_as_they_are(
    platform: Platform,
    tenancy: Run,
    tmp_path: Path,
    spec: Manifest,
    problem: str,
    options: tuple[str, ...],
) -> None:
    good = tenant_manifest("apply-unwritten")
    path = write(tmp_path / "x.yaml", good, tenant_manifest("apply-rejected", **spec))
    result = tenancy("apply", path, *options)
    assert (result.returncode, result.stdout) == (1, "")
    assert "nothing was changed" in result.stderr
    assert f"{path}:" in result.stderr
    assert problem in result.stderr
    assert platform.tenant(good) is None


def test_removed_namespace_needs_a_confirmation(
    platform: Platform, named: Any, tenancy: Run, tmp_path: Path
) -> None:
    manifest = named("apply-shrinks", namespaces=[{"name": "a"}, {"name": "b"}])
    platform.apply(manifest)
    platform.await_active(manifest)
    path = write(tmp_path / "x.yaml", {**manifest, "spec": {"namespaces": [{"name": "a"}]}})
    result = tenancy("apply", path)
    assert result.returncode == 1
    assert "namespace tenant-apply-shrinks-b is deleted with everything in it" in result.stderr
    assert "--yes" in result.stderr
    assert len((platform.tenant(manifest) or {})["spec"]["namespaces"]) == 2
    assert tenancy("apply", path, "--yes").returncode == 0


def test_fields_of_kubectl_stay_and_are_listed_until_they_are_taken_over(
    platform: Platform, named: Any, tenancy: Run, tmp_path: Path
) -> None:
    manifest = named("apply-kubectl", namespaces=[{"name": "a"}, {"name": "b"}], paused=True)
    path = write(tmp_path / "x.yaml", manifest)
    kubectl = ["kubectl", "--kubeconfig", str(platform.admin_kubeconfig), "apply", "-f", path]
    subprocess.run(kubectl, check=True, capture_output=True, env=platform.environment)
    new: dict[str, Any] = {"namespaces": [{"name": "a"}], "displayName": "New", "paused": True}
    path = write(tmp_path / "x.yaml", {**manifest, "spec": new})
    kept = "spec.namespaces[name=b] (set by kubectl-client-side-apply)"
    for command in ("preview", "apply"):
        result = tenancy(command, path)
        assert kept in result.stdout + result.stderr, result.stderr
        assert "spec.adopt (" not in result.stdout + result.stderr, "the API server has set this default"
    assert len((platform.tenant(manifest) or {})["spec"]["namespaces"]) == 2
    assert "spec.namespaces[name=b]" not in tenancy("preview", path, "--force-conflicts").stdout
    del new["paused"]
    path = write(tmp_path / "x.yaml", {**manifest, "spec": new})
    result = tenancy("apply", path, "--force-conflicts", "--yes")
    assert "(set by" not in result.stderr
    spec = (platform.tenant(manifest) or {})["spec"]
    assert [namespace["name"] for namespace in spec["namespaces"]] == ["a"]
    assert not spec.get("paused"), "kubectl has set the field, and the manifest does not contain it"


def test_paused_tenant_is_stored_but_not_applied(named: Any, tenancy: Run, tmp_path: Path) -> None:
    manifest = named("apply-paused", paused=True)
    path = write(tmp_path / "x.yaml", manifest)
    assert tenancy("apply", path).returncode == 3
    result = tenancy(
        "apply", write(tmp_path / "x.yaml", {**manifest, "spec": {"plan": "pro", "paused": True}})
    )
    assert result.returncode == 3
    assert "apply-paused: stored, but not applied: the tenant is paused" in result.stderr
    assert "run `tenancy resume apply-paused`" in result.stderr
    assert "configured, not applied (paused)" in result.stdout
    rejson = tenancy("apply", write(tmp_path / "x.yaml", manifest), "-o", "json")
    (row,) = json.loads(rejson.stdout)
    assert (row["isApplied"], row["reason"]) == (False, "Paused")


def test_no_sequence_of_commands_conflicts_or_loses_a_field(
    platform: Platform, named: Any, tenancy: Run, tmp_path: Path
) -> None:
    """The Tenant was first applied by `./dev run`, as a sample."""
    manifest = named("apply-sequence", adminUsers=["alice"], displayName="One")
    (sample,) = apply_samples(platform.admin, [manifest])
    path = write(tmp_path / "one.yaml", manifest)
    second = {**manifest, "spec": {"adminUsers": ["alice"], "displayName": "Two"}}
    commands = [
        ("apply", path),
        ("apply", write(tmp_path / "two.yaml", second)),
        ("pause", "apply-sequence"),
        ("apply", path),
        ("resume", "apply-sequence"),
        ("rollback", "apply-sequence", "--yes"),
        ("apply", path),
    ]
    for command in commands:
        result = tenancy(*command)
        is_paused = command == ("apply", path) and "paused" in result.stderr
        assert result.returncode == (3 if is_paused else 0), (command, result.stderr)
    spec = (platform.tenant(manifest) or {})["spec"]
    assert (spec["adminUsers"], spec["displayName"]) == (["alice"], "One")
    assert sample["spec"]["adminUsers"] == spec["adminUsers"]


def test_user_with_rights_on_tenants_only_can_apply_and_learns_what_was_not_checked(
    platform: Platform, named: Any, tenancy: Run, tmp_path: Path
) -> None:
    user, name = "tenant-writer", {"name": "test-tenant-writer"}
    rule = {"apiGroups": list(GROUPS), "resources": ["tenants"]}
    role = {"rules": [{**rule, "verbs": ["get", "list", "watch", "create", "patch"]}], "metadata": name}
    reference = {"apiGroup": API_GROUP, "kind": "ClusterRole", "name": name["name"]}
    subjects = [{"apiGroup": API_GROUP, "kind": "User", "name": user}]
    binding = {"roleRef": reference, "subjects": subjects, "metadata": name}
    platform.apply({"apiVersion": API_VERSION, "kind": "ClusterRole", **role})
    platform.apply({"apiVersion": API_VERSION, "kind": "ClusterRoleBinding", **binding})
    eventually(
        lambda: "there is no tenant" in tenancy("--as", user, "pause", "nobody").stderr,
        "the rights are effective",
    )
    manifest = named("apply-by-writer", namespaces=[{"name": "a"}, {"name": "b"}])
    path = write(tmp_path / "x.yaml", manifest)
    result = tenancy("--as", user, "apply", path)
    assert result.returncode == 0, result.stderr
    assert "plans, quotas, namespaces and hosts are not checked" in result.stderr
    assert "the effect on live objects is not checked" in result.stderr
    path = write(tmp_path / "x.yaml", {**manifest, "spec": {"namespaces": [{"name": "a"}]}})
    result = tenancy("--as", user, "apply", path)
    assert result.returncode == 1
    assert "namespace tenant-apply-by-writer-b is removed from the tenant" in result.stderr
