"""`tenancy diff` compares the live objects of a tenant with the desired state."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tenancy.plans import SHIPPED_PLANS
from tests.cli.conftest import Run
from tests.platform import Platform, tenant_manifest
from tests.shared import await_settled, shared_tenants

# Control sequences. On a terminal, they would set the title and clear the screen.
HOSTILE = "eve\x1b]0;gone\x07\x9b2J"


@pytest.fixture(scope="module", autouse=True)
def _tenants(running_platform: Platform) -> Iterator[None]:
    """Three tenants: a healthy tenant, a paused tenant with drift, and a tenant with an invalid spec."""
    drifted = tenant_manifest("uneven", adminUsers=["alice"])
    with shared_tenants(
        running_platform, tenant_manifest("even"), drifted, tenant_manifest("nodiff", plan="none-such")
    ):
        drifted["spec"]["paused"] = True
        await_settled(running_platform, running_platform.apply(drifted))
        eve = {"kind": "User", "name": HOSTILE, "apiGroup": "rbac.authorization.k8s.io"}
        running_platform.patch("RoleBinding", "tenant-uneven", "tenant-admin", {"subjects": [eve]})
        quota = {"spec": {"hard": {"cpu": "77"}}}
        running_platform.patch("ResourceQuota", "tenant-uneven", "tenant-quota", quota)
        running_platform.remove("Role", "tenant-uneven", "tenant-viewer")
        yield


def test_diff_of_a_tenant_that_is_well_is_empty(tenancy: Run) -> None:
    result = tenancy("diff", "even")
    assert (result.returncode, result.stdout) == (0, "even matches the desired state.\n"), result.stderr


def test_diff_of_a_paused_tenant_tells_each_field(tenancy: Run) -> None:
    result = tenancy("diff", "uneven")
    assert result.returncode == 2, result.stderr
    lines = result.stdout.splitlines()
    assert lines[:2] == ["Manual changes (drift)", "+ Role tenant-uneven/tenant-viewer"]
    assert lines[-3:] == ["", "Changes that are not applied yet", "none: the spec is applied"]
    quota = lines.index("~ ResourceQuota tenant-uneven/tenant-quota")
    assert lines[quota + 1 : quota + 4] == ["    spec.hard.cpu", "      - 77", "      + 500m"]
    changed = [line for line in lines[2:-3] if not line.startswith(" ")]
    assert sorted(changed) == [
        "~ ResourceQuota tenant-uneven/tenant-quota",
        "~ RoleBinding tenant-uneven/tenant-admin",
    ]
    result = tenancy("diff", "uneven", "-o", "json")
    assert result.returncode == 2, result.stderr
    data = json.loads(result.stdout)
    assert data["missing"] == []
    created, *updated = data["drift"]
    assert (created["operation"], created["name"]) == ("create", "tenant-viewer")
    fields = {change["kind"]: change["fields"] for change in updated}
    assert fields.keys() == {"ResourceQuota", "RoleBinding"}
    assert fields["ResourceQuota"] == [{"path": "spec.hard.cpu", "before": "77", "after": "500m"}]


def test_what_a_terminal_would_obey_is_shown_instead(tenancy: Run) -> None:
    result = tenancy("diff", "uneven", FORCE_COLOR="1")
    assert result.returncode == 2, result.stderr
    assert "eve\\u001b]0;gone\\u009b2J" in result.stdout
    assert not any(sequence in result.stdout for sequence in ("\x1b]", "\x07", "\x9b"))


def test_diff_goes_by_the_plans_file_that_is_given(tenancy: Run, tmp_path: Path) -> None:
    plans = yaml.safe_load(SHIPPED_PLANS.read_text())
    plans["plans"]["basic"]["quotas"][0]["hard"]["cpu"] = "3"
    path = tmp_path / "plans.yaml"
    path.write_text(yaml.safe_dump(plans))
    result = tenancy("diff", "even", "--plans", str(path))
    assert result.returncode == 2, result.stderr
    assert "      + 3" in result.stdout.splitlines()


def test_diff_of_an_invalid_spec_names_the_field(tenancy: Run) -> None:
    result = tenancy("diff", "nodiff")
    assert result.returncode == 3, result.stderr
    pending = result.stdout.split("Changes that are not applied yet\n")[1]
    assert pending.startswith("UnknownPlan: spec.plan: there is no plan 'none-such'")
    assert "correct it, and run: tenancy apply" in pending


def test_diff_of_no_tenant_says_how_to_find_one(tenancy: Run) -> None:
    result = tenancy("diff", "nobody")
    assert result.returncode == 1
    assert result.stderr == "error: there is no tenant 'nobody'; run `tenancy list` to see all tenants\n"
