"""`tenancy apply` applies either all Tenants or no Tenant, and waits until the Tenants are Active."""

import json
from pathlib import Path
from typing import Any

import yaml

from tests.cli.applying import named_fixture, write  # noqa: F401 - a fixture
from tests.cli.conftest import Run
from tests.platform import Platform, tenant_manifest


def rows(stdout: str) -> list[list[str]]:
    header, *lines = stdout.splitlines()
    assert header.split() == ["NAME", "RESULT", "PHASE", "DURATION"]
    return [line.split() for line in lines]


def test_tenants_are_created_then_unchanged_then_configured(
    platform: Platform, named: Any, tenancy: Run, tmp_path: Path
) -> None:
    first, second = named("applied-a", plan="basic"), named("applied-b", "kleff.kleff.io", plan="basic")
    write(tmp_path / "a.yaml", first)
    write(tmp_path / "b.yaml", second)
    result = tenancy("apply", str(tmp_path))
    assert result.returncode == 0, result.stderr
    assert [row[:3] for row in rows(result.stdout)] == [
        ["applied-a", "created", "Active"],
        ["applied-b", "created", "Active"],
    ]
    assert {line.split()[0] for line in result.stderr.splitlines()} == {"applied-a", "applied-b"}
    tenant = platform.tenant(first)
    assert tenant is not None
    assert "tenancy-cli" in {entry["manager"] for entry in tenant["metadata"]["managedFields"]}

    # A manifest that was read from the API server can be applied too, although it contains server-set
    # metadata.
    write(tmp_path / "a.yaml", tenant)
    write(tmp_path / "b.yaml", {**second, "spec": {"plan": "pro"}})
    result = tenancy("apply", str(tmp_path), "-o", "json")
    assert result.returncode == 0, result.stderr
    rows_by_name = {row["name"]: (row["what"], row["phase"]) for row in json.loads(result.stdout)}
    assert rows_by_name == {"applied-a": ("unchanged", "Active"), "applied-b": ("configured", "Active")}
    quota = platform.get("ResourceQuota", "tenant-applied-b", "tenant-quota")
    assert quota is not None
    assert quota["spec"]["hard"]["cpu"] == "4"


def test_failed_tenant_ends_it_with_its_reason(named: Any, tenancy: Run, tmp_path: Path) -> None:
    """The update of one tenant fails, because the API server rejects one of the tenant's objects."""
    extra = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"not a key": "x"}}
    path = write(tmp_path / "x.yaml", named("apply-good"), named("apply-bad", extraResources=[extra]))
    result = tenancy("apply", path)
    assert result.returncode == 1
    assert [row[:3] for row in rows(result.stdout)] == [
        ["apply-good", "created", "Active"],
        ["apply-bad", "created", "Failed"],
    ]
    assert "error: apply-bad: UpdateFailed: " in result.stderr


def test_all_errors_are_reported_by_their_lines_and_no_tenant_is_applied(
    platform: Platform, tenancy: Run, tmp_path: Path
) -> None:
    good = tenant_manifest("apply-never", plan="basic")
    faulty = tenant_manifest("apply-faulty", plan="basic", cordonned=True, resourceQuotas={"cpu": "lots"})
    path = write(tmp_path / "a.yaml", good, faulty, tenant_manifest("apply-planless", plan="none-such"))
    (tmp_path / "b.yaml").write_text("kind: [\n")
    result = tenancy("apply", str(tmp_path))
    assert (result.returncode, result.stdout) == (1, "")
    head, *lines = result.stderr.splitlines()
    assert head == "error: nothing was changed:"
    assert [line.partition(" ")[2].partition(": ")[0] for line in lines] == [
        "spec.cordonned",
        "spec.resourceQuotas.cpu",
        "spec.plan",
        "not YAML",
    ]
    assert [line.partition(": ")[0] for line in lines] == [
        *(f"{path}:{number}" for number in (14, 16, 23)),
        f"{tmp_path.as_posix()}/b.yaml:2",
    ]
    assert platform.tenant(good) is None


def test_what_the_server_refuses_keeps_the_others_from_being_applied(
    platform: Platform, tenancy: Run, tmp_path: Path
) -> None:
    good, refused = tenant_manifest("apply-not", plan="basic"), tenant_manifest("apply-refused")
    # The checks of `tenancy apply` do not detect this error.
    refused["metadata"]["finalizers"] = ["orphan", "foregroundDeletion"]
    result = tenancy("apply", write(tmp_path / "x.yaml", good, refused))
    assert (result.returncode, result.stdout) == (1, "")
    assert "apply-refused: the API server rejects the Tenant" in result.stderr
    assert "metadata.finalizers" in result.stderr
    assert platform.tenant(good) is None


def test_a_tenant_given_twice_is_refused(tenancy: Run, tmp_path: Path) -> None:
    twin = tenant_manifest("apply-twin")
    result = tenancy("apply", write(tmp_path / "twins.yaml", twin, twin))
    assert result.returncode == 1
    assert "'apply-twin' is also in" in result.stderr


def test_fields_of_another_manager_are_kept_unless_forced(
    platform: Platform, named: Any, tenancy: Run, tmp_path: Path
) -> None:
    manifest = named("apply-contest", plan="basic")
    platform.admin.apply(manifest, field_manager="argocd-controller")
    path = write(tmp_path / "x.yaml", {**manifest, "spec": {"plan": "pro"}})
    result = tenancy("apply", path)
    assert result.returncode == 1
    (entry,) = (platform.tenant(manifest) or {})["metadata"]["managedFields"][:1]
    assert f"spec.plan: set to another value by argocd-controller at {entry['time']};" in result.stderr
    assert "run `tenancy apply --force-conflicts` to take over all fields" in result.stderr
    assert (platform.tenant(manifest) or {})["spec"]["plan"] == "basic"
    result = tenancy("apply", path, "--force-conflicts")
    assert result.returncode == 0, result.stderr
    assert rows(result.stdout)[0][:3] == ["apply-contest", "configured", "Active"]


def test_dry_run_changes_nothing(platform: Platform, tenancy: Run) -> None:
    manifest = tenant_manifest("apply-dry", plan="basic")
    result = tenancy("apply", "-", "--dry-run", input=yaml.safe_dump(manifest))
    assert result.returncode == 0, result.stderr
    assert rows(result.stdout) == [["apply-dry", "created", "(dry", "run)", "-", "-"]]
    assert platform.tenant(manifest) is None


def test_time_out_names_the_late_one_and_no_wait_does_not_wait(
    platform: Platform, named: Any, tenancy: Run, tmp_path: Path
) -> None:
    path = write(tmp_path / "x.yaml", named("apply-late", plan="basic"))
    platform.stop()
    result = tenancy("apply", path, "--timeout", "0.5")
    assert result.returncode == 1
    assert "apply-late: Pending, NotSeen" in result.stderr
    result = tenancy("apply", path, "--no-wait")
    assert result.returncode == 0, result.stderr
    assert rows(result.stdout) == [["apply-late", "unchanged", "-", "-"]]


def test_nothing_to_apply_is_an_error(tenancy: Run) -> None:
    result = tenancy("apply", "-", input="kind: ConfigMap\n")
    assert result.returncode == 1
    assert "found no Tenant" in result.stderr
