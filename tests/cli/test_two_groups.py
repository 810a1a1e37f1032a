"""Tenants in both API groups: the category `tenancy`, the column GROUP, and Tenants with the same name."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.commands.list_tenants import list_tables, rows_with_quotas, uses_both_groups
from cli.doctor.watcher_and_tenants import tenant_findings
from cli.listing.formats import ListFormat
from tenancy.base.manifest import Manifest
from tests.cli.conftest import Run
from tests.platform import Platform, tenant_manifest
from tests.shared import shared_tenants

OLDER = tenant_manifest("doppel", displayName="Older")
NEWER = tenant_manifest("doppel", "kleff.kleff.io", displayName="Newer")


@pytest.fixture(scope="module", autouse=True)
def _tenants(running_platform: Platform) -> Iterator[None]:
    with shared_tenants(running_platform, OLDER):
        running_platform.apply(NEWER)
        running_platform.await_condition(NEWER, "NameTaken")
        yield
        running_platform.delete(NEWER)
        running_platform.await_gone(NEWER)


def kubectl(platform: Platform, folder: Path, *arguments: str) -> str:
    options = ["--cache-dir", str(folder), "--kubeconfig", str(platform.admin_kubeconfig)]
    result = subprocess.run(
        ["kubectl", *options, *arguments], check=True, capture_output=True, env=platform.environment
    )
    return result.stdout.decode()


def test_category_contains_tenants_of_both_groups_and_sessions(platform: Platform, tmp_path: Path) -> None:
    categories = {}
    for group in ("platform.ai", "kleff.kleff.io"):
        discovery = json.loads(kubectl(platform, tmp_path, "get", "--raw", f"/apis/{group}/v1"))
        for resource in discovery["resources"]:
            if "/" not in resource["name"]:
                categories[f"{resource['name']}.{group}"] = resource.get("categories")
    assert categories == {
        "tenants.platform.ai": ["tenancy"],
        "tenants.kleff.kleff.io": ["tenancy"],
        "aisessions.platform.ai": ["tenancy"],
    }
    names = kubectl(platform, tmp_path, "get", "tenancy", "-o", "name").splitlines()
    assert {"tenant.platform.ai/doppel", "tenant.kleff.kleff.io/doppel"} <= {*names}


def test_list_shows_the_groups_and_no_quotas_of_another_tenant(tenancy: Run) -> None:
    header, *lines = tenancy("list").stdout.splitlines()
    assert header.split()[:3] == ["NAME", "GROUP", "PHASE"]
    cells = {line.split()[1]: line.split()[2:] for line in lines if line.startswith("doppel ")}
    assert cells["platform.ai"][:4] == ["Active", "basic", "1", "0/500m"]
    assert cells["kleff.kleff.io"] == ["Failed", "basic", "0", "-", "-", "-", "NameTaken,", "NotApplied"]


def test_show_and_diff_of_a_duplicate_show_nothing_of_the_older_tenant(tenancy: Run) -> None:
    result = tenancy("show", "tenants.kleff.kleff.io/doppel")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(
        "doppel  Newer\nPhase   Failed, spec not applied\nReason  NameTaken: metadata.name: "
    )
    assert "the older Tenant tenants.platform.ai/doppel already has this name" in result.stdout
    assert "\nGroup   kleff.kleff.io\n" in result.stdout
    assert "tenant-doppel" not in result.stdout
    for title in ("Quotas", "Namespaces", "Access", "Sessions", "Last updates"):
        assert f"\n{title}\nnone\n" in result.stdout
    result = tenancy("diff", "tenants.kleff.kleff.io/doppel")
    assert (result.returncode, result.stdout) == (1, "")
    assert "tenants.kleff.kleff.io/doppel has no objects" in result.stderr

    assert tenancy("show", "doppel").stdout.startswith("doppel  Older\nPhase   Active\n")
    assert "\nStack   tenant-doppel\n" in tenancy("show", "tenants.platform.ai/doppel").stdout
    result = tenancy("show", "tenants.example.test/doppel")
    assert "the part before the slash must be tenant.platform.ai or tenant.kleff.kleff.io" in result.stderr


def test_doctor_gives_the_full_name_of_a_duplicate(platform: Platform) -> None:
    tenant = platform.tenant(NEWER)
    assert tenant is not None
    (finding,) = tenant_findings(tenant)
    assert finding.subject == "tenant tenants.kleff.kleff.io/doppel"
    assert finding.fix == "tenancy show tenants.kleff.kleff.io/doppel"


def created(manifest: Manifest, time: str, **status: Any) -> Manifest:
    metadata = {**manifest["metadata"], "creationTimestamp": time, "generation": 1}
    return {**manifest, "metadata": metadata, "status": status}


def test_duplicate_without_a_status_gets_no_quotas() -> None:
    older, newer = created(OLDER, "2020-01-01T00:00:00Z"), created(NEWER, "2020-01-01T00:00:01Z")
    for tenant in (older, newer):
        tenant["spec"] = {"plan": "basic"}
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {
            "name": "q",
            "namespace": "tenant-doppel",
            "labels": {"tenant.platform.ai/name": "doppel"},
        },
        "spec": {"hard": {"cpu": "1"}},
        "status": {"hard": {"cpu": "1"}, "used": {"cpu": "0"}},
    }
    rows = rows_with_quotas([newer, older], [quota])
    assert [len(row.quotas) for row in rows] == [0, 1]
    assert uses_both_groups(rows)
    assert not uses_both_groups(rows[:1])
    columns, _ = list_tables(has_groups=False)[ListFormat.TABLE]
    assert "GROUP" not in columns
